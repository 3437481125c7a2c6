// Evaluates the layers of the tool policy for one tool, and names the rule that decides.
import { asDeclared, isNamed, matches, normalizeName, type PolicyTool } from './names.ts'

const layerNames = [
  'profile',
  'profile_by_provider',
  'tools',
  'tools_by_provider',
  'agent',
  'agent_by_provider',
  'group',
  'subagent',
  'origin',
  'http',
  'client',
] as const

/** A list of names from the configuration. */
export interface NameList {
  /** Its key in the configuration, such as `tools.deny`. */
  source: string
  names: readonly string[]
  /** True: names match tool names exactly, and never groups, toolsets or patterns. */
  exact?: boolean
  /** True: the names are those that toolsets declare, whatever the operator has renamed. */
  isBuiltIn?: boolean
  /** Normalized names of tools to which the list does not apply. */
  except?: ReadonlySet<string>
}

/** One layer of the policy. Without `allow` it allows everything; an empty `allow` allows nothing. */
export interface Layer {
  layer: (typeof layerNames)[number]
  allow?: readonly NameList[] | undefined
  /** Tools that may be used once a person has approved the call. They need not be in `allow`. */
  ask?: readonly NameList[] | undefined
  deny?: readonly NameList[] | undefined
  /** Tools that the layer denies unless `ask` has them. */
  denyByDefault?: readonly NameList[] | undefined
}

/** The verdict of one layer; `none`: it has no rule for this tool. */
export interface Verdict {
  layer: string
  verdict: 'allow' | 'ask' | 'deny' | 'none'
  /** The rule that decided, such as `tools.deny: "exec"` or `not in tools.allow`. */
  rule?: string
}

export interface Decision {
  /** False if and only if the verdict is `deny`. */
  allowed: boolean
  /** `ask`: a person must approve each call. */
  verdict: 'allow' | 'ask' | 'deny'
  /** The rule that decided. Absent if no layer has a rule for the tool. */
  rule?: string | undefined
  /** All layers in order, including those after one that denies. */
  layers: Verdict[]
}

/**
 * A layer can only narrow what the layers before it allow: one that denies takes precedence over all others, and one that
 * asks over those that allow.
 */
export function evaluatePolicy(layers: readonly Layer[], tool: PolicyTool): Decision {
  const verdicts = [
    ...layers.map((layer) => evaluateLayer(layer, tool)),
    ...(tool.optIn ? [evaluateOptIn(layers, tool)] : []),
  ]
  return decide(verdicts)
}

export function decide(layers: Verdict[]): Decision {
  const find = (wanted: Verdict['verdict']): Verdict | undefined => layers.find(({ verdict }) => verdict === wanted)
  const decisive = find('deny') ?? find('ask') ?? layers.findLast(({ verdict }) => verdict === 'allow')
  const verdict = decisive?.verdict === 'deny' || decisive?.verdict === 'ask' ? decisive.verdict : 'allow'
  return { allowed: verdict !== 'deny', verdict, rule: decisive?.rule, layers }
}

function evaluateLayer({ layer, allow, ask = [], deny = [], denyByDefault = [] }: Layer, tool: PolicyTool): Verdict {
  const denied = findRule(deny, tool)
  if (denied) return { layer, verdict: 'deny', rule: denied }
  const asked = findRule(ask, tool)
  if (asked) return { layer, verdict: 'ask', rule: asked }
  const deniedByDefault = findRule(denyByDefault, tool)
  if (deniedByDefault) return { layer, verdict: 'deny', rule: deniedByDefault }
  if (!allow) return { layer, verdict: 'none' }
  const allowed = findRule(allow, tool)
  if (allowed) return { layer, verdict: 'allow', rule: allowed }
  return { layer, verdict: 'deny', rule: `not in ${allow.map(({ source }) => source).join(' or ')}` }
}

/** An opt-in tool must be named by a list that allows it or asks; a pattern or a missing list is not enough. */
function evaluateOptIn(layers: readonly Layer[], tool: PolicyTool): Verdict {
  const rule = layers
    .flatMap(({ allow = [], ask = [] }) => [...allow, ...ask])
    .map((list) => findRule([{ ...list, names: list.names.filter((name) => !name.includes('*')) }], tool))
    .find(Boolean)
  return rule
    ? { layer: 'opt_in', verdict: 'allow', rule }
    : { layer: 'opt_in', verdict: 'deny', rule: 'not named in any allow list' }
}

/** The first name that matches the tool, with its list. */
export function findRule(lists: readonly NameList[], tool: PolicyTool): string | undefined {
  for (const { source, names, exact, isBuiltIn, except } of lists) {
    if (except?.has(normalizeName(tool.name))) continue
    const seen = isBuiltIn ? asDeclared(tool) : tool
    const name = names.find((candidate) => (exact ? isNamed(candidate, seen) : matches(candidate, seen)))
    if (name !== undefined) return `${source}: ${JSON.stringify(name)}`
  }
  return undefined
}
