// Evaluates the layers of the tool policy for one tool, and names the rule that decides.
import { isNamed, matches, normalizeName, type PolicyTool } from './names.ts'

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
] as const

/** A list of names from the configuration. */
export interface NameList {
  /** Its key in the configuration, such as `tools.deny`. */
  source: string
  names: readonly string[]
  /** True: names match tool names exactly, and never groups, toolsets or patterns. */
  exact?: boolean
  /** Normalized names of tools to which the list does not apply. */
  except?: ReadonlySet<string>
}

/** One layer of the policy. Without `allow` it allows everything; an empty `allow` allows nothing. */
export interface Layer {
  layer: (typeof layerNames)[number]
  allow?: readonly NameList[] | undefined
  deny?: readonly NameList[] | undefined
}

/** The verdict of one layer; `none`: it has no rule for this tool. */
export interface Verdict {
  layer: string
  verdict: 'allow' | 'deny' | 'none'
  /** The rule that decided, such as `tools.deny: "exec"` or `not in tools.allow`. */
  rule?: string
}

export interface Decision {
  allowed: boolean
  /** All layers in order, including those after one that denies. */
  layers: Verdict[]
}

/** A tool is allowed if no layer denies it. A layer can only narrow what the layers before it allow. */
export function evaluatePolicy(layers: readonly Layer[], tool: PolicyTool): Decision {
  const verdicts = [
    ...layers.map((layer) => evaluateLayer(layer, tool)),
    ...(tool.optIn ? [evaluateOptIn(layers, tool)] : []),
  ]
  return { allowed: verdicts.every(({ verdict }) => verdict !== 'deny'), layers: verdicts }
}

function evaluateLayer({ layer, allow, deny = [] }: Layer, tool: PolicyTool): Verdict {
  const denied = findRule(deny, tool)
  if (denied) return { layer, verdict: 'deny', rule: denied }
  if (!allow) return { layer, verdict: 'none' }
  const allowed = findRule(allow, tool)
  if (allowed) return { layer, verdict: 'allow', rule: allowed }
  return { layer, verdict: 'deny', rule: `not in ${allow.map(({ source }) => source).join(' or ')}` }
}

/** An opt-in tool must be named by an allow list; a pattern or a missing list is not enough. */
function evaluateOptIn(layers: readonly Layer[], tool: PolicyTool): Verdict {
  const rule = layers
    .flatMap(({ allow = [] }) => allow)
    .map(({ source, names, exact = false }) =>
      findRule([{ source, names: names.filter((name) => !name.includes('*')), exact }], tool),
    )
    .find(Boolean)
  return rule
    ? { layer: 'opt_in', verdict: 'allow', rule }
    : { layer: 'opt_in', verdict: 'deny', rule: 'not named in any allow list' }
}

/** The first name that matches the tool, with its list. */
export function findRule(lists: readonly NameList[], tool: PolicyTool): string | undefined {
  for (const { source, names, exact, except } of lists) {
    if (except?.has(normalizeName(tool.name))) continue
    const name = names.find((candidate) => (exact ? isNamed(candidate, tool) : matches(candidate, tool)))
    if (name !== undefined) return `${source}: ${JSON.stringify(name)}`
  }
  return undefined
}
