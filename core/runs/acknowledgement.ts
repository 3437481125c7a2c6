// Recognises a reply that only says "nothing to report".

const word = 'HEARTBEAT_OK'
/** How much markup a reply may have around its words, in characters; it also bounds every search below. */
const longestMarkup = 1000

/**
 * True when the reply begins or ends with the acknowledgement as a word of its own, whatever marks wrap it,
 * and no more than `maxChars` characters remain beside it.
 */
export function isAcknowledgement(reply: string, maxChars: number): boolean {
  const whole = reply.trim()
  if (whole.length > word.length + maxChars + longestMarkup) return false
  const text = stripMarkup(whole)
  const rest = withoutLeading(text) ?? withoutTrailing(text)
  return rest !== undefined && rest.length <= maxChars
}

/** Takes HTML tags, blanks and Markdown marks away from both ends; the inside stays. An underscore may come escaped. */
function stripMarkup(text: string): string {
  return text
    .replaceAll(String.raw`HEARTBEAT\_OK`, word)
    .replace(/^(?:<[^<>]{1,200}>|&nbsp;|[*_`~#>+\s-])+/i, '')
    .replace(/(?:<[^<>]{1,200}>|&nbsp;|[*_`~\s])+$/i, '')
}

function withoutLeading(text: string): string | undefined {
  if (!text.startsWith(word)) return undefined
  const rest = text.slice(word.length)
  return /^_*[\p{L}\p{N}]/u.test(rest)
    ? undefined
    : rest.replace(/^(?:<[^<>]{1,200}>|[*_`~])*[^\p{L}\p{N}\s<]{0,4}/u, '').trim()
}

function withoutTrailing(text: string): string | undefined {
  const body = text.replace(/[^\p{L}\p{N}\s_>]{0,4}$/u, '').replace(/(?:<[^<>]{1,200}>|[*_`~])+$/, '')
  if (!body.endsWith(word)) return undefined
  const rest = body.slice(0, -word.length)
  return /[\p{L}\p{N}]_*$/u.test(rest) ? undefined : rest.replace(/(?:<[^<>]{1,200}>|[*_`~])+$/, '').trim()
}
