// Recognizes a reply that says only that there is nothing to report, and removes the word that says so.

/** Models escape the underscore where they write Markdown. */
const word = /HEARTBEAT\\?_OK/g
/** How much markup may surround the text, in characters. This also bounds the searches below. */
const maxMarkup = 1000
/** Pairs of marks around the word, such as `**`, are removed up to this depth. */
const maxDepth = 10

/**
 * Returns true if the reply begins or ends with the acknowledgement as a separate word, in any markup, and at most
 * `maxChars` characters remain beside it.
 */
export function isAcknowledgement(reply: string, maxChars: number): boolean {
  if (reply.trim().length > maxChars + 2 * maxMarkup) return false
  const split = splitAtWord(reply.trim())
  return split !== undefined && stripMarkup(joinWithoutWord(split)).length <= maxChars
}

/** Returns true if nothing but punctuation remains beside the acknowledgement. */
export const isOnlyAcknowledgement = (reply: string): boolean =>
  isAcknowledgement(reply, maxMarkup) && !/[\p{L}\p{N}\p{Sc}\p{So}]/u.test(removeAcknowledgement(reply))

/** Removes the acknowledgement from the start or the end of a reply. Any other reply stays as it is. */
export function removeAcknowledgement(reply: string): string {
  const split = splitAtWord(reply.trim())
  return split ? joinWithoutWord(split) : reply
}

/** What is before the word, and what is after it. */
interface Split {
  before: string
  after: string
}

function splitAtWord(text: string): Split | undefined {
  const found = [...text.matchAll(word)]
  const [first, last] = [found[0], found.at(-1)]
  if (!first || !last) return undefined
  const atStart = splitAt(text, first)
  if (isOnlyMarkup(atStart.before) && isSeparate(atStart)) return atStart
  const atEnd = splitAt(text, last)
  return isOnlyMarkup(atEnd.after.replace(/[^\p{L}\p{N}\s_>]{0,4}$/u, '')) && isSeparate(atEnd) ? atEnd : undefined
}

const splitAt = (text: string, { index, 0: found }: RegExpExecArray): Split => ({
  before: text.slice(0, index),
  after: text.slice(index + found.length),
})

const isSeparate = ({ before, after }: Split): boolean =>
  !/[\p{L}\p{N}]_*$/u.test(before.slice(-maxMarkup)) && !/^_*[\p{L}\p{N}]/u.test(after)

const isOnlyMarkup = (text: string): boolean =>
  text.length <= maxMarkup && stripMarkup(text).replace(/^["']+/, '') === ''

/** Removes HTML tags, blanks and Markdown marks from both ends. */
const stripMarkup = (text: string): string =>
  text
    .slice(0, 2 * maxMarkup)
    .replace(/^(?:<[^<>]{1,200}>|&nbsp;|[*_`~#>+\s-])+/i, '')
    .replace(/(?:<[^<>]{1,200}>|&nbsp;|[*_`~\s])+$/i, '')

/** Also removes the marks around the word and its punctuation. Marks that belong to the rest of the text stay. */
function joinWithoutWord(split: Split): string {
  const { before, after } = peelAll(split)
  const rest = peelAll({ before, after: after.replace(/^[^\S\n]*[.,:;!?…–—-]{1,4}/u, '') })
  const isOwnLine = rest.after === '' || rest.after.startsWith('\n')
  const kept = isOwnLine ? rest.before.replace(lineMark, '$1') : rest.before
  return (kept.trimEnd() + rest.after.trimStart()).trim()
}

/** The mark of a heading, a quote or an item in whose line nothing else is. */
const lineMark = /(^|\n)[^\S\n]{0,20}[#>+*-]{1,20}[^\S\n]{0,20}$/

function peelAll(split: Split): Split {
  let peeled = split
  for (let depth = 0; depth < maxDepth; depth++) peeled = peel(peeled) ?? peeled
  return peeled
}

const closing: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '(': ')',
  '[': ']',
  '“': '”',
  '„': '“',
  '«': '»',
}

/** Removes the innermost pair of marks, tags, quotes or brackets around the word, if there is one. */
function peel({ before, after }: Split): Split | undefined {
  const nearby = before.slice(-maxMarkup).trimEnd()
  const opening = /(?:<([a-z][a-z\d]{0,20})(?:\s[^<>]{0,200})?>|(\*{1,3}|_{1,3}|`{1,3}|~{1,2})|["'([“„«])$/i.exec(
    nearby,
  )
  if (!opening) return undefined
  const [mark, tag] = opening
  const close = tag === undefined ? (closing[mark] ?? mark) : `</${tag}>`
  const rest = after.trimStart()
  return rest.toLowerCase().startsWith(close.toLowerCase())
    ? { before: before.trimEnd().slice(0, -mark.length), after: rest.slice(close.length) }
    : undefined
}
