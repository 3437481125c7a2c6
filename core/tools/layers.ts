// Which layers hold for a subject: the lists of the configuration, in the order in which they narrow each other.
import type { Config, ToolLists, ToolPolicyConfig, ToolScope } from '../config/schema.ts'
import type { Layer, NameList } from './evaluate.ts'
import type { GroupPolicy } from './group.ts'
import { normalizeName } from './names.ts'
import { deniedToHooks, deniedToHttp, deniedToSubagents, profiles } from './profiles.ts'

export interface LayerConfig {
  tools: ToolPolicyConfig & { subagents?: { tools?: ToolLists } }
  agents: Readonly<Record<string, { tools?: ToolPolicyConfig }>>
  gateway: Pick<Config['gateway'], 'tools'>
}

/** What of a subject makes a difference: subjects of one shape are decided alike. */
export interface Shape {
  caller: 'agent' | 'http'
  agentId: string
  /** `<provider>/<model>` */
  model: string
  group: GroupPolicy | undefined
  isSubagent: boolean
  fromHook: boolean
}

/** All layers, also those that say nothing to this shape. */
export function resolveLayers(
  config: LayerConfig,
  { caller, agentId, model, group, isSubagent, fromHook }: Shape,
): Layer[] {
  const all: PolicySection<ToolPolicyConfig> = { path: 'tools', policy: config.tools }
  const own: PolicySection<ToolPolicyConfig> = {
    path: `agents.${agentId}.tools`,
    policy: config.agents[agentId]?.tools ?? {},
  }
  const [allBy, ownBy] = [byProvider(all, model), byProvider(own, model)]
  return [
    { layer: 'profile', ...profileLists(all, own) },
    { layer: 'profile_by_provider', ...profileLists(allBy, ownBy) },
    { layer: 'tools', ...listsAt(all) },
    { layer: 'tools_by_provider', ...listsAt(allBy) },
    { layer: 'agent', ...listsAt(own) },
    { layer: 'agent_by_provider', ...listsAt(ownBy) },
    { layer: 'group', ...(group && listsAt(group)) },
    { layer: 'subagent', ...(isSubagent && subagentLists(config.tools)) },
    { layer: 'origin', ...(fromHook && originLists(all, own)) },
    { layer: 'http', ...(caller === 'http' && httpLists(config.gateway.tools)) },
  ]
}

type Lists = Pick<Layer, 'allow' | 'deny'>

/** Keys of the configuration, and the path to them. */
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

/**
 * An agent that has a profile begins with it in place of everybody's; one that has only `alsoAllow` adds to
 * everybody's.
 */
function profileLists(all: PolicySection<ToolScope>, own: PolicySection<ToolScope>): Lists {
  const replaces = own.policy.profile !== undefined
  const { path, policy } = replaces ? own : all
  const added = (replaces ? [own] : [all, own]).flatMap((section) =>
    section.policy.alsoAllow ? [{ source: `${section.path}.alsoAllow`, names: section.policy.alsoAllow }] : [],
  )
  // No profile counts as `full`: what is added to it changes nothing, but has been named where a tool must be.
  if (policy.profile === undefined && added.length === 0) return {}
  const profile = policy.profile ?? 'full'
  return { allow: [{ source: `${path}.profile "${profile}"`, names: profiles[profile] }, ...added] }
}

/** The entry for the model, else the one for its provider. */
function byProvider({ path, policy }: PolicySection<ToolPolicyConfig>, model: string): PolicySection<ToolScope> {
  const entries = Object.entries(policy.byProvider ?? {})
  const find = (reference: string) => entries.find(([key]) => normalizeName(key) === normalizeName(reference))
  const [key, scope] = find(model) ?? find(model.split('/', 1)[0] as string) ?? []
  return { path: `${path}.byProvider.${key}`, policy: scope ?? {} }
}

function subagentLists({ subagents }: LayerConfig['tools']): Lists {
  const section = { path: 'tools.subagents.tools', policy: subagents?.tools ?? {} }
  return unlessAllowed(
    { source: 'kept from subagents (tools.subagents.tools)', names: deniedToSubagents },
    listsAt(section),
  )
}

/** What the operator has opened to webhooks, whatever an agent could do with it. */
export function hookAllow(config: LayerConfig, agentId: string): readonly NameList[] {
  const own = hookLists({ path: `agents.${agentId}.tools`, policy: config.agents[agentId]?.tools ?? {} })
  return own.allow ?? hookLists({ path: 'tools', policy: config.tools }).allow ?? []
}

/** An agent's own `allow` goes before everybody's; what either denies is denied. */
function originLists(all: PolicySection<ToolPolicyConfig>, own: PolicySection<ToolPolicyConfig>): Lists {
  const [everybodys, agents] = [hookLists(all), hookLists(own)]
  const lists = { allow: agents.allow ?? everybodys.allow, deny: [...(everybodys.deny ?? []), ...(agents.deny ?? [])] }
  return unlessAllowed({ source: 'kept from webhooks (tools.byOrigin.hook)', names: deniedToHooks }, lists)
}

const hookLists = ({ path, policy }: PolicySection<ToolPolicyConfig>): Lists =>
  listsAt({ path: `${path}.byOrigin.hook`, policy: policy.byOrigin?.hook ?? {} })

/** Where a list says what is allowed, it says so of what is kept back, too. */
function unlessAllowed(kept: NameList, lists: Lists): Lists {
  return lists.allow ? lists : { deny: [...(lists.deny ?? []), { ...kept, exact: true }] }
}

function httpLists({ allow = [], deny = [] }: ToolLists): Lists {
  const lifted = new Set(allow.map(normalizeName))
  return {
    deny: [
      { source: 'gateway.tools.deny', names: deny, exact: true },
      {
        source: 'kept from HTTP (gateway.tools)',
        names: deniedToHttp.filter((name) => !lifted.has(name)),
        exact: true,
      },
    ],
  }
}
