// Mentions by name, on platforms that do not tell who is mentioned: `@helper …`, `helper: …` or `helper, …`.

/** @returns the text without the mention, or nothing if it does not begin with one of the names */
export function withoutMention(text: string, names: readonly string[]): string | undefined {
  const escaped = names.toSorted((a, b) => b.length - a.length).flatMap((name) => RegExp.escape(name.trim()) || [])
  const name = `(?:${escaped.join('|')})`
  const mention = new RegExp(String.raw`^\s*(?:@${name}(?![\p{L}\p{N}_])[:,：，]?|${name}[:,：，])\s*`, 'iu')
  return mention.test(text) ? text.replace(mention, '') : undefined
}
