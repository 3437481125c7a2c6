// Reads the agents of openclaw, which are a list or an object by id, and which agent answers on which channel.
import { isRecord } from './carry-over.ts'

type Document = Record<string, unknown>

/** The id of an agent as openclaw reads it. */
export const agentIdOf = (id: unknown): string | undefined => {
  if (typeof id !== 'string') return undefined
  const plain = id
    .trim()
    .toLowerCase()
    .replace(/[^a-z0-9_-]+/g, '-')
  return (
    plain
      .replace(/^[-_]+/, '')
      .slice(0, 64)
      .replace(/(?<!-)-+$/, '') || undefined
  )
}

export interface SourceAgents {
  /** The source, with its agents as `agents.entries` by their ids. */
  source: Document
  /** The ids of the agents. The first of a list is the default agent, unless another one is marked. */
  ids: readonly string[]
  /** The path of a setting in the file. */
  pathInFile(path: string): string
}

export function readAgents(file: Document): SourceAgents {
  const agents = isRecord(file['agents']) ? file['agents'] : {}
  const { list, entries, ...others } = agents
  const listed = Array.isArray(list) ? (list as unknown[]) : []
  const named: readonly (readonly [path: string, id: unknown, agent: unknown])[] = [
    ...Object.entries(isRecord(entries) ? entries : {}).map(
      ([id, agent]) => [`agents.entries.${id}`, id, agent] as const,
    ),
    ...listed.map((agent, index) => [`agents.list.${index}`, isRecord(agent) && agent['id'], agent] as const),
  ]
  const byId = new Map<string, Document>()
  const paths = new Map<string, string>()
  const rest: Document = {}
  for (const [path, given, agent] of named) {
    const id = agentIdOf(given)
    if (id === undefined || byId.has(id) || !isRecord(agent)) {
      rest[path.slice('agents.'.length)] = agent
      continue
    }
    const { id: _id, ...settings } = agent
    byId.set(id, settings)
    paths.set(`agents.entries.${id}`, path)
  }
  const [first] = byId.values()
  if (first && listed.length > 0 && ![...byId.values()].some((agent) => agent['default'] === true))
    first['default'] = true
  return {
    source: { ...file, ...(named.length > 0 && { agents: { ...others, ...rest, entries: Object.fromEntries(byId) } }) },
    ids: [...byId.keys()],
    pathInFile: (path) => {
      const own = path.split('.').slice(0, 3).join('.')
      return `${paths.get(own) ?? own}${path.slice(own.length)}`
    },
  }
}

interface Binding {
  path: string
  agentId: string
  channel: string
  accountId: string | undefined
}

/** The bindings of an agent to a channel or an account. Others, such as to a person, have no equal here. */
export function readBindings({ bindings }: Document): Binding[] {
  return (Array.isArray(bindings) ? (bindings as unknown[]) : []).flatMap((binding, index): Binding[] => {
    const { agentId, match } = isRecord(binding) ? binding : {}
    const { channel, accountId, ...others } = isRecord(match) ? match : {}
    const id = agentIdOf(agentId)
    const isWhole = Object.keys(others).length === 0 && (accountId === undefined || typeof accountId === 'string')
    if (id === undefined || typeof channel !== 'string' || !isWhole) return []
    return [{ path: `bindings.${index}`, agentId: id, channel, accountId: accountId === '*' ? undefined : accountId }]
  })
}

/** The channels with a binding that cannot be carried over: their messages would be read by another agent. */
export const channelsOfOtherBindings = (source: Document): ReadonlySet<unknown> => {
  const carried = new Set(readBindings(source).map(({ path }) => path))
  const { bindings } = source
  return new Set(
    (Array.isArray(bindings) ? (bindings as unknown[]) : []).flatMap((binding, index) =>
      isRecord(binding) && isRecord(binding['match']) && !carried.has(`bindings.${index}`)
        ? [binding['match']['channel']]
        : [],
    ),
  )
}
