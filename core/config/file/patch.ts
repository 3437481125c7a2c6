// Applies a change that an agent makes to the configuration file. Only keys that cannot extend anybody's permissions
// may change.
import { dotted } from '../../typebox.ts'
import { ConfigError } from '../config-error.ts'
import { listDifferences } from '../differences.ts'
import { mergeIntoText } from './edit-text.ts'
import { type ConfigDocument, readConfigFile, readConfigText } from './read.ts'
import { resolveConfig } from '../resolve.ts'
import type { ConfigurableExtensions } from '../schema/schema.ts'
import { isRecord } from '../walk.ts'
import { writePrivateFile } from './write.ts'

/** A rejected change. The message says why. */
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
 * Merges the changes into the file: objects are merged, null removes a key, any other value replaces the old one.
 * @returns the paths that changed.
 * @throws {PatchError} and writes nothing if the change is not allowed or not valid.
 */
export function patchConfigFile({ file, changes, extensions, env }: Patch): string[] {
  const before = read(() => readConfigFile(file, env))
  const texts = findStrings(changes)
  if (texts.some((text) => text.includes('${')))
    throw new PatchError('A change must not contain "${", because it could reveal environment variables.')
  const after = read(() => readConfigText({ ...before, text: mergeIntoText(before.text, changes) }))
  const changed = listDifferences(before.value, after.value)
  for (const keys of changed) {
    const reason = explainClosed(keys, before)
    if (reason) throw new PatchError(`${dotted(keys)} cannot be changed by an agent; ${reason}. Edit ${file} instead.`)
  }
  if (JSON.stringify(agentIds(before.value)) !== JSON.stringify(agentIds(after.value))) {
    throw new PatchError(
      `agents cannot be changed by an agent: none can be added, removed or moved. Edit ${file} instead.`,
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
      throw new PatchError(`The change is invalid, and nothing was written. ${error.message}`, { cause: error })
    throw error
  }
}

/** Keys that an agent may change without gaining permissions. `<agent>` is `defaults` or an existing agent. */
const patchableKeys = [
  'agents.<agent>.model',
  'agents.<agent>.thinking',
  'agents.<agent>.timeoutSeconds',
  'agents.<agent>.heartbeat.every',
  'agents.<agent>.heartbeat.activeHours',
  'agents.<agent>.heartbeat.model',
  'session.historyTurns',
  'session.historyTokens',
]

const allowed = `it may change ${patchableKeys.join(', ')}`

/** Why a key cannot be changed; undefined if it can. */
function explainClosed(keys: readonly string[], { value }: ConfigDocument): string | undefined {
  const [section, name] = keys
  const pattern = (section === 'agents' ? [section, '<agent>', ...keys.slice(2)] : keys).join('.')
  const isOpen = patchableKeys.some((key) => pattern === key || pattern.startsWith(`${key}.`))
  if (!isOpen || (section === 'agents' && name !== 'defaults' && !agentIds(value).includes(name))) return allowed
  // Another model could avoid the policy of the current provider.
  return keys.at(-1) === 'model' && hasProviderPolicy(value)
    ? 'the tool policy depends on the model (byProvider)'
    : undefined
}

/** In order, because the first agent may be the default. */
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

const findStrings = (value: unknown): string[] => {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(findStrings) : []
}
