// The format `html`, as Telegram accepts it: which marks it has, and what must be escaped.
import { markOf, type Style } from './style.ts'

const tag = (name: string) => markOf(`<${name}>`, `</${name}>`)

const escapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escapeHtml = (text: string): string => text.replace(/[&<>]/g, (character) => escapes[character] as string)
const escapeAttribute = (text: string): string => text.replace(/[&<>"]/g, (character) => escapes[character] as string)

/** Longer addresses are written as text, so that a link never fills a message. */
const maxAddressLength = 500

const isLinkable = (address: string): boolean =>
  /^(?:https?:|mailto:|tg:)[^\s\p{Cc}]+$/iu.test(address) && address.length <= maxAddressLength

export const html: Style = {
  bold: tag('b'),
  italic: tag('i'),
  strike: tag('s'),
  code: tag('code'),
  block: { ...tag('pre'), isBlock: true },
  quote: tag('blockquote'),
  link: (address) => (isLinkable(address) ? markOf(`<a href="${escapeAttribute(address)}">`, '</a>') : undefined),
  escape: escapeHtml,
  finish: (spans) => spans,
}
