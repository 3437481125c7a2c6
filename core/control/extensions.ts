// What this gateway is made of: plugins and their extensions, channels and how they are, tools and the names a policy
// can use, routes.
import type { ConnectionState } from '../delivery/connections.ts'
import type { RouteInfo } from '../http/route-list.ts'
import type { Extensions } from '../loader/registry.ts'
import type { RegisteredTool } from '../tools/registry.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'

interface ExtensionsDeps {
  extensions: Extensions
  /** Every configured account. */
  connections: () => readonly ConnectionState[]
  tools: () => readonly RegisteredTool[]
  routes: () => readonly RouteInfo[]
}

export function extensionEndpoints({ extensions, connections, tools, routes }: ExtensionsDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api/extensions',
      schema: {
        summary: 'Shows plugins, channels and how they are, presets, tools and routes.',
        response: { 200: Answer },
      },
      handle: async () => ({
        plugins: pluginsOf(extensions),
        problems: extensions.problems,
        channels: Array.from(extensions.channels.values(), ({ name, description }) => ({
          name,
          description,
          accounts: accountsOf(name, connections()),
        })),
        presets: [...extensions.presets.keys()],
        policy: policyOf(tools()),
        routes: routes().map(({ method, path, schema: { summary } }) => ({ method, path, summary })),
      }),
    }),
  ]
}

/** Grouped by who brought them. */
function pluginsOf({ sources }: Extensions) {
  const bySource = Map.groupBy(sources, ([, source]) => source)
  return Array.from(bySource, ([source, entries]) => ({
    source,
    extensions: entries.map(([{ kind, name }]) => ({ kind, name })),
  }))
}

const accountsOf = (name: string, states: readonly ConnectionState[]) =>
  states.filter(({ channel }) => channel === name).map(({ accountId, state }) => ({ accountId, state }))

function policyOf(entries: readonly RegisteredTool[]) {
  const groups = new Set(entries.flatMap(({ tool: { group } }) => (group === undefined ? [] : `group:${group}`)))
  return {
    tools: entries.map(({ tool: { name, group }, toolset }) => ({
      name,
      toolset,
      ...(group !== undefined && { group }),
    })),
    groups: [...groups].toSorted(),
    toolsets: [...new Set(entries.map(({ toolset }) => toolset))].toSorted(),
  }
}

const Names = (description: string) => Type.Array(Type.String(), { description })

const Answer = Type.Object({
  plugins: Type.Array(
    Type.Object({
      source: Type.String(),
      extensions: Type.Array(Type.Object({ kind: Type.String(), name: Type.String() })),
    }),
  ),
  problems: Names('What was refused at the start, and why.'),
  channels: Type.Array(
    Type.Object({
      name: Type.String(),
      description: Type.String(),
      accounts: Type.Array(
        Type.Object({ accountId: Type.String(), state: Type.Enum(['connecting', 'connected', 'failing']) }),
        {
          description: 'The configured accounts; none: the channel is loaded, but not set up.',
        },
      ),
    }),
  ),
  presets: Names('Loaded presets.'),
  policy: Type.Object(
    {
      tools: Type.Array(
        Type.Object({ name: Type.String(), toolset: Type.String(), group: Type.Optional(Type.String()) }),
      ),
      groups: Names('Groups of the tools, as a policy writes them.'),
      toolsets: Names('Toolsets, whose names stand for all of their tools.'),
    },
    { description: 'The names that a tool policy can use.' },
  ),
  routes: Type.Array(
    Type.Object({ method: Type.String(), path: Type.String(), summary: Type.Optional(Type.String()) }),
  ),
})
