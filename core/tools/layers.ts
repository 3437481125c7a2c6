// Resolves the policy layers for a subject: the lists of the configuration, each of which narrows the ones before.
import type { Config, ToolLists, ToolPolicyConfig, ToolScope } from '../config/schema/schema.ts'
import type { Layer, NameList } from './evaluate.ts'
import type { GroupPolicy } from './group.ts'
import { normalizeName } from './names.ts'
import { deniedToHooks, deniedToHttp, deniedToSubagents, loginTools } from './denied-by-default.ts'
import { profiles } from './profiles.ts'

export interface LayerConfig {
  tools: ToolPolicyConfig & { subagents?: { tools?: ToolLists } }
  agents: Readonly<Record<string, { tools?: ToolPolicyConfig }>>
  gateway: Pick<Config['gateway'], 'tools'>
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
}

/** All layers, including those that do not apply to this shape. */
export function resolveLayers(
  config: LayerConfig,
  { caller, agentId, model, group, isSubagent, fromHook }: Shape,
): Layer[] {
  const shared: PolicySection<ToolPolicyConfig> = { path: 'tools', policy: config.tools }
  const own: PolicySection<ToolPolicyConfig> = {
    path: `agents.${agentId}.tools`,
    policy: config.agents[agentId]?.tools ?? {},
  }
  const [sharedByProvider, ownByProvider] = [byProvider(shared, model), byProvider(own, model)]
  return [
    { layer: 'profile', ...profileLists(shared, own) },
    { layer: 'profile_by_provider', ...profileLists(sharedByProvider, ownByProvider) },
    { layer: 'tools', ...listsAt(shared) },
    { layer: 'tools_by_provider', ...listsAt(sharedByProvider) },
    { layer: 'agent', ...listsAt(own) },
    { layer: 'agent_by_provider', ...listsAt(ownByProvider) },
    { layer: 'group', ...(group && listsAt(group)) },
    { layer: 'subagent', ...(isSubagent && subagentLists(config.tools)) },
    { layer: 'origin', ...(fromHook && originLists(shared, own)) },
    { layer: 'http', ...(caller === 'http' && httpLists(config.gateway.tools)) },
  ]
}

type Lists = Pick<Layer, 'allow' | 'deny'>

/** A section of the configuration and its path. */
interface PolicySection<Keys> {
  path: string
  policy: Keys
}

function listsAt({ path, policy: { allow, deny } }: PolicySection<ToolLists>): Lists {
  return {
    allow: allow && [{ source: `${path}.allow`, names: allow }],
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
  return { allow: [{ source: `${path}.profile "${profile}"`, names: profiles[profile] }, ...added] }
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

/** The lists with which the operator allows tools for webhook runs of an agent. */
export function hookAllow(config: LayerConfig, agentId: string): readonly NameList[] {
  const own = hookLists({ path: `agents.${agentId}.tools`, policy: config.agents[agentId]?.tools ?? {} })
  return own.allow ?? hookLists({ path: 'tools', policy: config.tools }).allow ?? []
}

/** An agent's own `allow` replaces the shared one; both `deny` lists apply. */
function originLists(shared: PolicySection<ToolPolicyConfig>, own: PolicySection<ToolPolicyConfig>): Lists {
  const [sharedLists, ownLists] = [hookLists(shared), hookLists(own)]
  const lists = {
    allow: ownLists.allow ?? sharedLists.allow,
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
  return lists.allow ? lists : { deny: [...(lists.deny ?? []), ...denied] }
}

/** Tools by their exact names, and groups. */
const denyByDefault = (source: string, { names, groups = [], except = new Set() }: DefaultDeny): NameList[] => [
  { source, names, except, exact: true },
  { source, names: groups, except },
]

interface DefaultDeny extends Pick<NameList, 'names' | 'except'> {
  groups?: readonly string[]
}

function httpLists({ allow = [], deny = [] }: ToolLists): Lists {
  const allowedNames = new Set(allow.map(normalizeName))
  return {
    deny: [
      { source: 'gateway.tools.deny', names: deny, exact: true },
      ...denyByDefault('denied over HTTP by default (gateway.tools)', {
        names: deniedToHttp,
        groups: loginTools,
        except: allowedNames,
      }),
    ],
  }
}
