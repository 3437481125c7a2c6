// A change of the configuration from inside the gateway: checked as a whole, open only to what cannot widen what the gateway lets anybody do.
import { dotted } from '../typebox.ts'
import { ConfigError } from './config-error.ts'
import { mergeIntoText } from './edit-text.ts'
import { type ConfigDocument, readConfigFile, readConfigText } from './file.ts'
import { resolveConfig } from './resolve.ts'
import type { ConfigurableParts } from './schema.ts'
import { isRecord } from './walk.ts'
import { writePrivateFile } from './write-file.ts'

/** A change that is not made; the message says why and what would be. */
export class PatchError extends Error {
  override readonly name = 'PatchError'
}

export interface Patch {
  file: string
  changes: Readonly<Record<string, unknown>>
  parts: ConfigurableParts
  env: NodeJS.ProcessEnv
}

/**
 * Merges the changes into the file: objects are merged, null removes a key, anything else replaces.
 * @returns the paths that changed
 * @throws {PatchError} with nothing written.
 */
export function patchConfigFile({ file, changes, parts, env }: Patch): string[] {
  const before = read(() => readConfigFile(file, env))
  const texts = findStrings(changes)
  if (texts.some((text) => text.includes('${'))) throw new PatchError('A change may not hold "${": what an environment variable holds could be read back.')
  const after = read(() => readConfigText({ ...before, text: mergeIntoText(before.text, changes) }))
  const changed = differences(before.value, after.value)
  const closed = changed.find((keys) => !isOpen(keys, before))
  if (closed) throw new PatchError(`${dotted(closed)} is closed to changes from inside; ${open}. Edit ${file} by hand.`)
  read(() => resolveConfig(after, parts))
  if (changed.length > 0) writePrivateFile(file, after.text, { overwrite: true })
  return changed.map(dotted)
}

function read<Result>(step: () => Result): Result {
  try {
    return step()
  } catch (error) {
    if (error instanceof ConfigError) throw new PatchError(`The change is not valid, and nothing was written. ${error.message}`, { cause: error })
    throw error
  }
}

const open =
  'open are agents.defaults and the agents that there are (but for tools, models, workspace and default), session, log, and enabled and defaultTo of channels'

/**
 * What is not named here stays closed: secrets and what lies beside them, addresses that secrets are sent to, paths, plugins,
 * and everything that says who may do what.
 */
function isOpen([section, name, key]: readonly string[], { value }: ConfigDocument): boolean {
  if (section === 'session' || section === 'log') return true
  if (section === 'channels') return key === 'enabled' || key === 'defaultTo'
  const known = name === 'defaults' || isKnownAgent(name, value)
  return section === 'agents' && known && key !== undefined && !['tools', 'models', 'workspace', 'default'].includes(key)
}

/** A new agent could become the default one, and would begin without the limits of the others. */
const isKnownAgent = (name: string | undefined, { agents }: Record<string, unknown>): boolean =>
  name !== undefined && isRecord(agents) && Object.hasOwn(agents, name)

/** Where two values differ, as deep as both can be told apart; what is only in one of them counts with all that is in it. */
function differences(before: unknown, after: unknown, keys: readonly string[] = []): (readonly string[])[] {
  if (isRecord(before) || isRecord(after)) {
    const [one, other] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}]
    const inside = [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) => differences(one[key], other[key], [...keys, key]))
    const both = isRecord(before) && isRecord(after)
    return both || inside.length > 0 ? inside : [keys]
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [keys]
}

const findStrings = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(findStrings) : []
}
