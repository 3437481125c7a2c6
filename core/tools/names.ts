// Matches names in policy lists to tools: a tool name, a pattern with `*`, `group:<name>`, or a toolset name.
import { groups } from './profiles.ts'

/** The properties of a tool that the policy depends on. */
export interface PolicyTool {
  name: string
  /** The name that its toolset gives it, by which the built-in lists know it. Default: `name`. */
  declaredName?: string | undefined
  group?: string | undefined
  /** The toolset that provides it. */
  toolset?: string | undefined
  /** True: a third-party plugin provides it. */
  foreign?: boolean
  /** True: it is denied unless an allow list names it. */
  optIn?: boolean
}

/** Case-insensitive. */
export function matches(name: string, tool: PolicyTool): boolean {
  const wanted = normalizeName(name)
  if (wanted.startsWith('group:')) return groupsOf(tool).includes(wanted.slice('group:'.length))
  return (
    wanted === normalizeName(tool.name) ||
    wanted === tool.toolset ||
    (wanted.includes('*') && matchesPattern(wanted.split('*'), normalizeName(tool.name)))
  )
}

/** Whether `name` is the tool's name; case-insensitive. */
export const isNamed = (name: string, tool: PolicyTool): boolean => normalizeName(name) === normalizeName(tool.name)

export const normalizeName = (name: string): string => name.trim().toLowerCase()

/** The tool under the name that the built-in lists know. An operator who renames `exec` does not allow it to webhooks. */
export const asDeclared = (tool: PolicyTool): PolicyTool => ({ ...tool, name: tool.declaredName ?? tool.name })

/** The groups that the tool declares, and those that contain its name. */
function groupsOf({ name, declaredName = name, group, foreign }: PolicyTool): string[] {
  const known = Object.keys(groups).filter((known) => groups[known]?.includes(declaredName))
  return [...known, ...(group === undefined ? [] : [normalizeName(group)]), ...(foreign ? ['plugins'] : [])]
}

/** `segments` is the pattern split at `*`. Each is searched for once, which keeps the cost linear. */
function matchesPattern(segments: readonly string[], text: string): boolean {
  const [first = '', last = ''] = [segments[0], segments.at(-1)]
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const segment of segments.slice(1, -1)) {
    const found = text.indexOf(segment, at)
    if (found === -1) return false
    at = found + segment.length
  }
  return at <= text.length - last.length
}
