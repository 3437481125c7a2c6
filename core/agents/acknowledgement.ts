// Recognises a reply that only says "nothing to report".

const word = 'HEARTBEAT_OK'

/**
 * True when the reply begins or ends with the acknowledgement as a word of its own, whatever marks wrap it,
 * and no more than `maxChars` characters remain beside it.
 */
export function isAcknowledgement(reply: string, maxChars: number): boolean {
  const text = stripMarkup(reply)
  const rest = withoutLeading(text) ?? withoutTrailing(text)
  return rest !== undefined && rest.length <= maxChars
}

/** Takes HTML tags, entities for blanks and Markdown marks away from both ends; the inside stays. */
function stripMarkup(reply: string): string {
  return reply
    .replace(/<[^<>]{1,200}>/g, ' ')
    .replace(/&nbsp;/gi, ' ')
    .trim()
    .replace(/^[*_`~#>\s]+/, '')
    .replace(/[*_`~\s]+$/, '')
}

function withoutLeading(text: string): string | undefined {
  if (!text.startsWith(word)) return undefined
  const rest = text.slice(word.length)
  return /^[\p{L}\p{N}_]/u.test(rest) ? undefined : rest.replace(/^[*_`~]*[^\p{L}\p{N}\s]{0,4}/u, '').trim()
}

function withoutTrailing(text: string): string | undefined {
  const body = text.replace(/[^\p{L}\p{N}\s_]{0,4}$/u, '').replace(/[*_`~]+$/, '')
  if (!body.endsWith(word)) return undefined
  const rest = body.slice(0, -word.length)
  return /[\p{L}\p{N}_]$/u.test(rest) ? undefined : rest.replace(/[*_`~]+$/, '').trim()
}
