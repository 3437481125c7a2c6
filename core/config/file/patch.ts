// A change of the configuration from inside the gateway: checked as a whole, open only to what cannot widen what the
// gateway lets anybody do.
import { dotted } from '../../typebox.ts'
import { ConfigError } from '../config-error.ts'
import { mergeIntoText } from './edit-text.ts'
import { type ConfigDocument, readConfigFile, readConfigText } from './read.ts'
import { resolveConfig } from '../resolve.ts'
import type { ConfigurableExtensions } from '../schema.ts'
import { isRecord } from '../walk.ts'
import { writePrivateFile } from './write.ts'

/** A change that is not made; the message says why and what would be. */
export class PatchError extends Error {
  override readonly name = 'PatchError'
}

export interface Patch {
  file: string
  changes: Readonly<Record<string, unknown>>
  extensions: ConfigurableExtensions
  env: NodeJS.ProcessEnv
}

/**
 * Merges the changes into the file: objects are merged, null removes a key, anything else replaces.
 * @returns the paths that changed
 * @throws {PatchError} with nothing written.
 */
export function patchConfigFile({ file, changes, extensions, env }: Patch): string[] {
  const before = read(() => readConfigFile(file, env))
  const texts = findStrings(changes)
  if (texts.some((text) => text.includes('${')))
    throw new PatchError('A change may not hold "${": what an environment variable holds could be read back.')
  const after = read(() => readConfigText({ ...before, text: mergeIntoText(before.text, changes) }))
  const changed = differences(before.value, after.value)
  for (const keys of changed) {
    const why = closedBecause(keys, before)
    if (why) throw new PatchError(`${dotted(keys)} is closed to changes from inside; ${why}. Edit ${file} by hand.`)
  }
  if (JSON.stringify(agentIds(before.value)) !== JSON.stringify(agentIds(after.value))) {
    throw new PatchError(
      `agents is closed to changes from inside; no agent can be added, removed or moved. Edit ${file} by hand.`,
    )
  }
  read(() => resolveConfig(after, extensions))
  if (changed.length > 0) writePrivateFile(file, after.text, { overwrite: true })
  return changed.map(dotted)
}

function read<Result>(step: () => Result): Result {
  try {
    return step()
  } catch (error) {
    if (error instanceof ConfigError)
      throw new PatchError(`The change is not valid, and nothing was written. ${error.message}`, { cause: error })
    throw error
  }
}

/** Values that no change can turn against the operator. `<agent>`: the defaults, or an agent that there is. */
const openKeys = [
  'agents.<agent>.model',
  'agents.<agent>.thinking',
  'agents.<agent>.timeoutSeconds',
  'agents.<agent>.heartbeat.every',
  'agents.<agent>.heartbeat.activeHours',
  'agents.<agent>.heartbeat.model',
  'session.historyTurns',
  'session.historyTokens',
]

const open = `open are ${openKeys.join(', ')}`

/**
 * What is not listed stays closed: secrets, addresses, paths, plugins, all that says who may do what, what an agent is
 * told to do, where its words go, what is kept and what is logged.
 */
function closedBecause(keys: readonly string[], { value }: ConfigDocument): string | undefined {
  const [section, name] = keys
  const pattern = (section === 'agents' ? [section, '<agent>', ...keys.slice(2)] : keys).join('.')
  const isOpen = openKeys.some((key) => pattern === key || pattern.startsWith(`${key}.`))
  if (!isOpen || (section === 'agents' && name !== 'defaults' && !agentIds(value).includes(name))) return open
  // With another model an agent would leave behind what its provider's policy denies.
  return keys.at(-1) === 'model' && hasProviderPolicy(value)
    ? 'the tool policy depends on the model (byProvider)'
    : undefined
}

/** Their order counts: where none is marked, the first agent is the default. */
const agentIds = ({ agents }: Record<string, unknown>): unknown[] =>
  isRecord(agents) ? Object.keys(agents).filter((id) => id !== 'defaults') : []

function hasProviderPolicy({ tools, agents }: Record<string, unknown>): boolean {
  const scopes = [
    tools,
    ...(isRecord(agents) ? Object.values(agents).map((agent) => (isRecord(agent) ? agent['tools'] : undefined)) : []),
  ]
  return scopes.some(
    (scope) => isRecord(scope) && isRecord(scope['byProvider']) && Object.keys(scope['byProvider']).length > 0,
  )
}

/**
 * Where two values differ, as deep as both can be told apart; what is only in one of them counts with all that is in
 * it.
 */
function differences(before: unknown, after: unknown, keys: readonly string[] = []): (readonly string[])[] {
  if (isRecord(before) || isRecord(after)) {
    const [one, other] = [isRecord(before) ? before : {}, isRecord(after) ? after : {}]
    const inside = [...new Set([...Object.keys(one), ...Object.keys(other)])].flatMap((key) =>
      differences(one[key], other[key], [...keys, key]),
    )
    const both = isRecord(before) && isRecord(after)
    return both || inside.length > 0 ? inside : [keys]
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [keys]
}

const findStrings = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(findStrings) : []
}
