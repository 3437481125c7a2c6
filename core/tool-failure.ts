// Describes what a tool threw, for the log: with its text only if that certainly repeats nothing private.
import { describeThrown, describeWithoutText } from './errors.ts'
import type { Tool } from './plugin/plugin.ts'

/**
 * A tool works on private data: on its arguments, and on what it reads. A tool that declares that it reads nothing
 * private has only its arguments, so its text is logged if it repeats none of them.
 */
export function describeToolFailure(
  error: unknown,
  { tool, args }: { tool: Tool; args: unknown },
): ReturnType<typeof describeThrown> {
  const { effects } = tool
  const readsNothing = Array.isArray(effects) && !effects.includes('reads-private')
  const described = describeThrown(error)
  const text = `${described.reason} ${described.cause ?? ''}`
  return readsNothing && !repeats(text, args) ? { ...described, ...placeOf(error) } : describeWithoutText(error)
}

/** The place without lines of the message, which can look like places. */
const placeOf = (error: unknown): { at?: string } => {
  const { at } = describeWithoutText(error)
  return at === undefined ? {} : { at }
}

/** Longer arguments are not searched: their text counts as repeated. */
const maxSearched = 100_000
/** Parts of this length are searched, because errors quote the beginning of a long text. */
const partLength = 8
/** Shorter arguments, such as `en` or `5`, are in many texts by chance. */
const minLength = 3

function repeats(text: string, args: unknown): boolean {
  const values = leavesOf(args).map((value) => value.trim())
  if (values.reduce((sum, { length }) => sum + length, 0) > maxSearched) return true
  const parts = Array.from({ length: Math.max(0, text.length - partLength + 1) }, (_, index) =>
    text.slice(index, index + partLength),
  )
  return values.some((value) =>
    value.length < partLength
      ? value.length >= minLength && text.includes(value)
      : parts.some((part) => value.includes(part)),
  )
}

/** Keys count, too: a caller may choose them. */
function leavesOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [String(value)]
  const keys = Array.isArray(value) ? [] : Object.keys(value)
  return keys.concat(Object.values(value).flatMap(leavesOf))
}
