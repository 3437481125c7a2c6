// Resolves the policy layers for a subject: the lists of the configuration, each of which narrows the ones before.
import { agentIdsOf } from '../config/schema/agents.ts'
import type { Config, ToolLists, ToolPolicyConfig, ToolScope } from '../config/schema/schema.ts'
import type { Layer, NameList } from './evaluate.ts'
import type { GroupPolicy } from './group.ts'
import { normalizeName } from './names.ts'
import { deniedToHooks, deniedToHttp, deniedToSubagents, loginTools } from './denied-by-default.ts'
import { profiles } from './profiles.ts'

export interface LayerConfig {
  tools: ToolPolicyConfig & { subagents?: { tools?: ToolLists } }
  agents: Readonly<Record<string, { tools?: ToolPolicyConfig }>>
  gateway: Pick<Config['gateway'], 'tools'> & { auth: Pick<Config['gateway']['auth'], 'clients'> }
}

/** The properties of a subject that the policy depends on. */
export interface Shape {
  caller: 'agent' | 'http'
  agentId: string
  /** `<provider>/<model>` */
  model: string
  group: GroupPolicy | undefined
  isSubagent: boolean
  fromHook: boolean
  /** The name of the client that calls. Absent: none, or the gateway's own credential. */
  client?: string | undefined
}

/** All layers, including those that do not apply to this shape. */
export function resolveLayers(
  config: LayerConfig,
  { caller, agentId, model, group, isSubagent, fromHook, client }: Shape,
): Layer[] {
  const shared: PolicySection<ToolPolicyConfig> = { path: 'tools', policy: config.tools }
  const own: PolicySection<ToolPolicyConfig> = {
    path: `agents.${agentId}.tools`,
    policy: config.agents[agentId]?.tools ?? {},
  }
  const isKnown = agentIdsOf(config.agents).includes(agentId)
  const [sharedByProvider, ownByProvider] = [byProvider(shared, model), byProvider(own, model)]
  return [
    { layer: 'profile', ...profileLists(shared, own) },
    { layer: 'profile_by_provider', ...profileLists(sharedByProvider, ownByProvider) },
    { layer: 'tools', ...listsAt(shared) },
    { layer: 'tools_by_provider', ...listsAt(sharedByProvider) },
    { layer: 'agent', ...(isKnown ? listsAt(own) : denyRemoved(agentId)) },
    { layer: 'agent_by_provider', ...listsAt(ownByProvider) },
    { layer: 'group', ...(group && listsAt(group)) },
    { layer: 'subagent', ...(isSubagent && subagentLists(config.tools)) },
    { layer: 'origin', ...(fromHook && originLists(shared, own)) },
    { layer: 'http', ...(caller === 'http' && httpLists(config.gateway.tools)) },
    { layer: 'client', ...(client !== undefined && clientLists(config.gateway.auth, client, agentId)) },
  ]
}

type Lists = Omit<Layer, 'layer'>

/** An agent that had a run started may be gone when its run starts, and its lists with it. */
const denyRemoved = (agentId: string): Lists => ({
  deny: [{ source: `agents has no agent "${agentId}"`, names: ['*'] }],
})

/** A section of the configuration and its path. */
interface PolicySection<Keys> {
  path: string
  policy: Keys
}

function listsAt({ path, policy: { allow, ask, deny } }: PolicySection<ToolLists>): Lists {
  return {
    allow: allow && [{ source: `${path}.allow`, names: allow }],
    ask: ask && [{ source: `${path}.ask`, names: ask }],
    deny: deny && [{ source: `${path}.deny`, names: deny }],
  }
}

/** An agent's `profile` replaces the shared one. Without a profile, its `alsoAllow` adds to the shared one. */
function profileLists(shared: PolicySection<ToolScope>, own: PolicySection<ToolScope>): Lists {
  const replaces = own.policy.profile !== undefined
  const { path, policy } = replaces ? own : shared
  const added = (replaces ? [own] : [shared, own]).flatMap((section) =>
    section.policy.alsoAllow ? [{ source: `${section.path}.alsoAllow`, names: section.policy.alsoAllow }] : [],
  )
  // Without a profile everything is allowed, so `alsoAllow` matters only to opt-in tools, which it names.
  if (policy.profile === undefined && added.length === 0) return {}
  const profile = policy.profile ?? 'full'
  return { allow: [{ source: `${path}.profile "${profile}"`, names: profiles[profile], isBuiltIn: true }, ...added] }
}

/** The entry for the model, or else the one for its provider. */
function byProvider({ path, policy }: PolicySection<ToolPolicyConfig>, model: string): PolicySection<ToolScope> {
  const entries = Object.entries(policy.byProvider ?? {})
  const find = (reference: string) => entries.find(([key]) => normalizeName(key) === normalizeName(reference))
  const [key, scope] = find(model) ?? find(model.split('/', 1)[0] as string) ?? []
  return { path: `${path}.byProvider.${key}`, policy: scope ?? {} }
}

function subagentLists({ subagents }: LayerConfig['tools']): Lists {
  const section = { path: 'tools.subagents.tools', policy: subagents?.tools ?? {} }
  return withDefaultDeny(
    denyByDefault('denied to subagents by default (tools.subagents.tools)', {
      names: deniedToSubagents,
      groups: loginTools,
    }),
    listsAt(section),
  )
}

/** The lists with which the operator allows tools for webhook runs of an agent, maybe once a person has approved. */
export function hookAllow(config: LayerConfig, agentId: string): readonly NameList[] {
  const own = hookLists({ path: `agents.${agentId}.tools`, policy: config.agents[agentId]?.tools ?? {} })
  const shared = hookLists({ path: 'tools', policy: config.tools })
  return [...(own.allow ?? shared.allow ?? []), ...(shared.ask ?? []), ...(own.ask ?? [])]
}

/** What happens to a call of an agent that the rule of two would withhold. */
export const beyondRuleOfTwo = (config: LayerConfig, agentId: string): 'deny' | 'ask' =>
  config.agents[agentId]?.tools?.byOrigin?.hook?.beyondRuleOfTwo ??
  config.tools.byOrigin?.hook?.beyondRuleOfTwo ??
  'deny'

/** An agent's own `allow` replaces the shared one; both `ask` and both `deny` lists apply. */
function originLists(shared: PolicySection<ToolPolicyConfig>, own: PolicySection<ToolPolicyConfig>): Lists {
  const [sharedLists, ownLists] = [hookLists(shared), hookLists(own)]
  const lists = {
    allow: ownLists.allow ?? sharedLists.allow,
    ask: [...(sharedLists.ask ?? []), ...(ownLists.ask ?? [])],
    deny: [...(sharedLists.deny ?? []), ...(ownLists.deny ?? [])],
  }
  return withDefaultDeny(
    denyByDefault('denied to webhooks by default (tools.byOrigin.hook)', { names: deniedToHooks }),
    lists,
  )
}

const hookLists = ({ path, policy }: PolicySection<ToolPolicyConfig>): Lists =>
  listsAt({ path: `${path}.byOrigin.hook`, policy: policy.byOrigin?.hook ?? {} })

/** Tools that are denied by default are denied unless an `allow` list is set, which then decides on them too. */
function withDefaultDeny(denied: readonly NameList[], lists: Lists): Lists {
  return lists.allow ? lists : { ...lists, denyByDefault: denied }
}

/** Tools by their exact names, and groups. */
const denyByDefault = (source: string, { names, groups = [], except = new Set() }: DefaultDeny): NameList[] => [
  { source, names, except, exact: true, isBuiltIn: true },
  { source, names: groups, except, isBuiltIn: true },
]

/**
 * Only an admin of all agents configures the gateway and logs channels in, whatever other lists say. What a client has
 * started loses its tools when the client loses the agent.
 */
function clientLists({ clients }: LayerConfig['gateway']['auth'], name: string, agentId: string): Lists {
  const client = clients.find((one) => one.name === name)
  if (!client) return { deny: [{ source: `gateway.auth.clients has no client "${name}"`, names: ['*'] }] }
  if (client.agents && !client.agents.includes(agentId))
    return { deny: [{ source: `gateway.auth.clients.${name}.agents does not list "${agentId}"`, names: ['*'] }] }
  const lists = listsAt({ path: `gateway.auth.clients.${name}.tools`, policy: client.tools ?? {} })
  if (client.role === 'admin' && !client.agents) return lists
  const source =
    client.role === 'admin'
      ? 'denied to a client that is limited to agents, because it concerns the whole gateway'
      : `denied to a client with the role ${client.role}, needs the role admin`
  return {
    ...lists,
    deny: [...(lists.deny ?? []), ...denyByDefault(source, { names: ['gateway'], groups: loginTools })],
  }
}

interface DefaultDeny extends Pick<NameList, 'names' | 'except'> {
  groups?: readonly string[]
}

function httpLists({ allow = [], ask = [], deny = [] }: ToolLists): Lists {
  const allowedNames = new Set(allow.map(normalizeName))
  return {
    ask: [{ source: 'gateway.tools.ask', names: ask, exact: true }],
    deny: [{ source: 'gateway.tools.deny', names: deny, exact: true }],
    denyByDefault: denyByDefault('denied over HTTP by default (gateway.tools)', {
      names: deniedToHttp,
      groups: loginTools,
      except: allowedNames,
    }),
  }
}
