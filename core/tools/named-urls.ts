// Which URLs people and the operator have named to a turn. Nobody outside has chosen them, and the agent has put nothing
// of what it has read into them.

export type IsNamedUrl = (url: string) => boolean

/** A URL counts only as a whole: one that begins like it could carry more. */
export function createNamedUrls(texts: readonly string[]): IsNamedUrl {
  let named: ReadonlySet<string> | undefined
  return (url) => {
    const key = keyOf(url.trim())
    if (key === undefined) return false
    named ??= new Set(texts.flatMap((text) => text.split(separators).flatMap(readUrls)))
    return named.has(key)
  }
}

/** What is not part of a URL in a text. */
const separators = /[\s<>"'`|[\]]+/

/** The URL of a word, with and without the punctuation around it. People often write one without `https://`. */
function readUrls(word: string): string[] {
  if (!word.includes('.') && !word.includes('//')) return []
  const begun = word.replace(/^[(*_]+/, '')
  return [begun, begun.slice(0, begun.length - countClosing(begun))].flatMap((text) => {
    const key = keyOf(text.includes('://') ? text : `https://${text}`)
    return key === undefined ? [] : [key]
  })
}

const closing = new Set(').,;:!?*_')

function countClosing(word: string): number {
  let count = 0
  while (count < word.length && closing.has(word.charAt(word.length - 1 - count))) count += 1
  return count
}

/** The scheme says only how the page is fetched, and what follows `#` is not sent. */
function keyOf(text: string): string | undefined {
  const url = URL.parse(text)
  return url?.hostname && /^https?:$/.test(url.protocol) ? `//${url.host}${url.pathname}${url.search}` : undefined
}
