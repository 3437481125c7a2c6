// Turns Slack's markup of a received message into text that a model reads: mentions, links and escapes.

/** Removes the mention of the bot, and says whether there was one. */
export function readText(raw: string, botUserId: string): { text: string; mentioned: boolean } {
  const mention = new RegExp(`<@${RegExp.escape(botUserId)}(?:\\|[^>]*)?>[ \\t]*`, 'g')
  const others = raw.replace(mention, '')
  const text = others.replace(/<([^<>]+)>/g, (_whole, inner: string) => readMark(inner)).trim()
  return { text: unescape(text), mentioned: others !== raw }
}

/** A person stays `<@U…>`, because the agent can write it so as well. */
function readMark(inner: string): string {
  const [target = '', label] = inner.split('|', 2)
  if (target.startsWith('@')) return `<${target}>`
  if (target.startsWith('#')) return label ? `#${label}` : target
  if (target.startsWith('!')) return label ?? `@${target.slice(1)}`
  return label === undefined || target.endsWith(label) ? target : `${label} (${target})`
}

const unescape = (text: string) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
