// Whether layers allow a tool, and which name in which list decides.
import { isNamed, matches, type PolicyTool } from './names.ts'

export const layerNames = [
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

/** A list of names, and where it stands. */
export interface NameList {
  source: string
  names: readonly string[]
  /** True: each name means the tool of this very name and nothing else. */
  exact?: boolean
}

/** One step of the policy. No `allow`: it allows everything; an `allow` without names: nothing. */
export interface Layer {
  layer: (typeof layerNames)[number]
  allow?: readonly NameList[] | undefined
  deny?: readonly NameList[] | undefined
}

/** What one layer says; `none`: nothing about this tool. */
export interface Verdict {
  layer: string
  verdict: 'allow' | 'deny' | 'none'
  /** What decided: `tools.deny: "exec"`, or `not in tools.allow`. */
  rule?: string
}

export interface Decision {
  allowed: boolean
  /** In order, also those behind one that denies. */
  layers: Verdict[]
}

/** A tool is allowed when no layer denies it: each can only narrow what those before it left. */
export function evaluatePolicy(layers: readonly Layer[], tool: PolicyTool): Decision {
  const verdicts = [...layers.map((layer) => judge(layer, tool)), ...(tool.optIn ? [judgeNamed(layers, tool)] : [])]
  return { allowed: verdicts.every(({ verdict }) => verdict !== 'deny'), layers: verdicts }
}

function judge({ layer, allow, deny = [] }: Layer, tool: PolicyTool): Verdict {
  const denied = findRule(deny, tool)
  if (denied) return { layer, verdict: 'deny', rule: denied }
  if (!allow) return { layer, verdict: 'none' }
  const allowed = findRule(allow, tool)
  if (allowed) return { layer, verdict: 'allow', rule: allowed }
  return { layer, verdict: 'deny', rule: `not in ${allow.map(({ source }) => source).join(' or ')}` }
}

/** Of a tool that must be named: a list of all tools, or none, is not enough. */
function judgeNamed(layers: readonly Layer[], tool: PolicyTool): Verdict {
  const rule = layers
    .flatMap(({ allow = [] }) => allow)
    .map(({ source, names, exact = false }) =>
      findRule([{ source, names: names.filter((name) => !name.includes('*')), exact }], tool),
    )
    .find(Boolean)
  return rule
    ? { layer: 'opt_in', verdict: 'allow', rule }
    : { layer: 'opt_in', verdict: 'deny', rule: 'named by no list that allows' }
}

/** The first name that means the tool, with its list. */
export function findRule(lists: readonly NameList[], tool: PolicyTool): string | undefined {
  for (const { source, names, exact } of lists) {
    const name = names.find((candidate) => (exact ? isNamed(candidate, tool) : matches(candidate, tool)))
    if (name !== undefined) return `${source}: ${JSON.stringify(name)}`
  }
  return undefined
}
