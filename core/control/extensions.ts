// The endpoint that lists plugins and their extensions, channels, presets, tools and routes.
import type { ConnectionState } from '../delivery/connections/link.ts'
import type { RouteInfo } from '../http/route-list.ts'
import { type Extensions, ownSource } from '../loader/registry.ts'
import { type Health, supervisedStates } from '../reconnect.ts'
import { toolsetStates, type ToolsetState } from '../tools/open-toolset.ts'
import type { RegisteredTool } from '../tools/registry.ts'
import { Type } from '../typebox.ts'
import { AccountHealth, viewAccount, viewHealth } from './channels.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { Time } from './lists.ts'
import { readVersion } from '../version.ts'

interface ExtensionsDeps {
  extensions: Extensions
  /** Every configured account. */
  connections: () => readonly ConnectionState[]
  /** The jobs of presets. */
  jobs: () => readonly (Health & { preset: string })[]
  tools: () => readonly RegisteredTool[]
  toolsets: () => readonly ToolsetState[]
  routes: () => readonly RouteInfo[]
}

export function extensionEndpoints({
  extensions,
  connections,
  jobs,
  tools,
  toolsets,
  routes,
}: ExtensionsDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api/extensions',
      access: { needs: 'read', scope: 'gateway' },
      schema: {
        summary: 'Lists plugins, channels with their connection state, presets, tools and routes.',
        response: { 200: ExtensionList },
      },
      handle: async () => ({
        plugins: pluginsOf(extensions),
        problems: extensions.problems,
        channels: Array.from(extensions.channels.values(), ({ name, description }) => ({
          name,
          description,
          accounts: accountsOf(name, connections()),
        })),
        toolsets: toolsets(),
        presets: [...extensions.presets.keys()],
        jobs: jobs().map((job) => Object.assign({ preset: job.preset }, viewHealth(job))),
        policy: policyOf(tools()),
        routes: routes().map(({ method, path, schema: { summary } }) => ({ method, path, summary })),
      }),
    }),
  ]
}

/** Groups the extensions by the plugin that exports them. */
function pluginsOf({ sources, packages }: Extensions) {
  const bySource = Map.groupBy(sources, ([, source]) => source)
  const own = { name: ownSource, version: readVersion() }
  return Array.from(bySource, ([source, entries]) => ({
    source,
    ...describePackage(source === ownSource ? own : packages.get(source)),
    extensions: entries.map(([{ kind, name }]) => ({ kind, name })),
  }))
}

const describePackage = ({ name, version }: { name?: string; version?: string } = {}) => ({
  ...(name !== undefined && { name }),
  ...(version !== undefined && { version }),
})

const accountsOf = (name: string, states: readonly ConnectionState[]) =>
  states.filter(({ channel }) => channel === name).map(viewAccount)

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

const ExtensionList = Type.Object({
  plugins: Type.Array(
    Type.Object({
      source: Type.String({ description: 'The entry of `plugins`, or `svc-gateway`.' }),
      name: Type.Optional(Type.String({ description: 'The name of the package that the plugin belongs to.' })),
      version: Type.Optional(Type.String({ description: 'The version of that package.' })),
      extensions: Type.Array(Type.Object({ kind: Type.String(), name: Type.String() })),
    }),
  ),
  problems: Names('Extensions that were not loaded, and why.'),
  channels: Type.Array(
    Type.Object({
      name: Type.String(),
      description: Type.String(),
      accounts: Type.Array(AccountHealth, {
        description: 'The configured accounts. Empty when the channel is loaded but not configured.',
      }),
    }),
  ),
  toolsets: Type.Array(
    Type.Object({
      toolset: Type.String(),
      state: Type.Enum([...toolsetStates]),
      reason: Type.Optional(Type.String({ description: 'Why the toolset is not open.' })),
    }),
  ),
  presets: Names('The loaded presets.'),
  jobs: Type.Array(
    Type.Object({
      preset: Type.String(),
      state: Type.Enum([...supervisedStates]),
      since: Time('When the job came into this state.'),
      reason: Type.Optional(Type.String({ description: 'Why the job does not run.' })),
    }),
    { description: 'The jobs of enabled presets, such as the watch of a mailbox.' },
  ),
  policy: Type.Object(
    {
      tools: Type.Array(
        Type.Object({ name: Type.String(), toolset: Type.String(), group: Type.Optional(Type.String()) }),
      ),
      groups: Names('The groups of tools, as written in a policy.'),
      toolsets: Names('The toolsets. The name of a toolset includes all of its tools.'),
    },
    { description: 'The names that a tool policy may use.' },
  ),
  routes: Type.Array(
    Type.Object({ method: Type.String(), path: Type.String(), summary: Type.Optional(Type.String()) }),
  ),
})
