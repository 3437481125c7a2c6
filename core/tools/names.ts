// What a name in a list of the policy means: a tool, several by `*`, a group, or all tools of a toolset.
import { groups } from './profiles.ts'

/** What the policy knows of a tool. */
export interface PolicyTool {
  name: string
  group?: string | undefined
  /** The toolset that brings it. */
  toolset?: string | undefined
  /** True: it comes from a plugin that is not ours. */
  foreign?: boolean
  /** True: it must be named to be allowed. */
  optIn?: boolean
}

/** Case means nothing, in names that people write as in those of tools. */
export function matches(name: string, tool: PolicyTool): boolean {
  const wanted = normalizeName(name)
  if (wanted.startsWith('group:')) return groupsOf(tool).includes(wanted.slice('group:'.length))
  return (
    wanted === normalizeName(tool.name) ||
    wanted === tool.toolset ||
    (wanted.includes('*') && fits(wanted.split('*'), normalizeName(tool.name)))
  )
}

/** Only the very name. */
export const isNamed = (name: string, tool: PolicyTool): boolean => normalizeName(name) === normalizeName(tool.name)

export const normalizeName = (name: string): string => name.trim().toLowerCase()

/** By what a tool says of itself, and by its name where that is one that we know. */
function groupsOf({ name, group, foreign }: PolicyTool): string[] {
  const known = Object.keys(groups).filter((known) => groups[known]?.includes(name))
  return [...known, ...(group === undefined ? [] : [normalizeName(group)]), ...(foreign ? ['plugins'] : [])]
}

/** Each piece is looked for once, behind the one before it: a pattern of many stars costs no more than its length. */
function fits(pieces: readonly string[], text: string): boolean {
  const [first = '', last = ''] = [pieces[0], pieces.at(-1)]
  if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let at = first.length
  for (const piece of pieces.slice(1, -1)) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return at <= text.length - last.length
}
