// Recognizes a reply that says only that there is nothing to report.

const word = 'HEARTBEAT_OK'
/** How much markup may surround the text, in characters. This also bounds the searches below. */
const maxMarkup = 1000

/**
 * Returns true if the reply begins or ends with the acknowledgement as a separate word, in any markup, and at most
 * `maxChars` characters remain beside it.
 */
export function isAcknowledgement(reply: string, maxChars: number): boolean {
  const whole = reply.trim()
  if (whole.length > word.length + maxChars + maxMarkup) return false
  const text = stripMarkup(whole)
  const rest = removeLeadingWord(text) ?? removeTrailingWord(text)
  return rest !== undefined && rest.length <= maxChars
}

/** Removes HTML tags, blanks and Markdown marks from both ends. The underscore of the word may be escaped. */
function stripMarkup(text: string): string {
  return text
    .replaceAll(String.raw`HEARTBEAT\_OK`, word)
    .replace(/^(?:<[^<>]{1,200}>|&nbsp;|[*_`~#>+\s-])+/i, '')
    .replace(/(?:<[^<>]{1,200}>|&nbsp;|[*_`~\s])+$/i, '')
}

function removeLeadingWord(text: string): string | undefined {
  if (!text.startsWith(word)) return undefined
  const rest = text.slice(word.length)
  return /^_*[\p{L}\p{N}]/u.test(rest)
    ? undefined
    : rest.replace(/^(?:<[^<>]{1,200}>|[*_`~])*[^\p{L}\p{N}\s<]{0,4}/u, '').trim()
}

function removeTrailingWord(text: string): string | undefined {
  const body = text.replace(/[^\p{L}\p{N}\s_>]{0,4}$/u, '').replace(/(?:<[^<>]{1,200}>|[*_`~])+$/, '')
  if (!body.endsWith(word)) return undefined
  const rest = body.slice(0, -word.length)
  return /[\p{L}\p{N}]_*$/u.test(rest) ? undefined : rest.replace(/(?:<[^<>]{1,200}>|[*_`~])+$/, '').trim()
}
