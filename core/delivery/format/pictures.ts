// Takes out of a text that stays Markdown what a client would fetch without a click: pictures by address become links,
// and HTML becomes text.
import { markCodeBlocks } from './code-blocks.ts'
import type { Mark } from './styled-text.ts'

/**
 * Platforms disagree on what is code, so pictures and HTML are also taken out of inline code and of unusual blocks. Only
 * a block that every platform takes for code stays as it is.
 */
export function withoutFetches(markdown: string): string {
  if (!/!\[|</.test(markdown)) return markdown
  const links = withoutHtml(markdown)
  return markCodeBlocks(markdown)
    .map(({ text, marks: [block] }) => {
      const whole = block ? block.open + text + block.close : text
      return block && isPlainBlock(block, text) ? whole : withoutPictures(withoutHtml(whole), links)
    })
    .join('')
}

const isPlainBlock = ({ open }: Mark, text: string): boolean =>
  /^```[\w+#.-]{0,40}\n$/.test(open) && !text.includes('```')

// ── Markdown ────────────────────────────────────────────────────────────────────────────────────

/** @param whole the text that may define the addresses of pictures */
function withoutPictures(text: string, whole: string): string {
  const links = text
    // A picture inside a link, such as a badge: the link is enough.
    .replace(/\[!+\[([^[\]\n]*)\]\([^()\s]*\)\]\(/g, (_, label: string) => `[${label.trim() || 'image'}](`)
    .replace(/(?<!!)!+\[([^[\]\n]*)\](?=[([])/g, (_, label: string) => `[${label.trim() || 'image'}]`)
  // Without an address, it is something else, such as `vec![1, 2]`. With a space, no parser takes it for a picture.
  return /\][([:]/.test(whole + text) ? links.replace(/!(?=\[)/g, '! ') : links
}

// ── HTML ────────────────────────────────────────────────────────────────────────────────────────

/**
 * A space keeps a tag from being one. Tags without attributes fetch nothing, but at the beginning of a line they could
 * make what follows a block of HTML, in which code is no code.
 */
const withoutHtml = (text: string): string =>
  text
    .replace(/<img\s[^<>]*>/gi, (tag) => linkOf(tag) ?? tag)
    .replace(/<(?=[a-z][a-z\d-]*(?:\s|\/(?!>)))/gi, '< ')
    .replace(/^([ \t>*+\-\d.)]*)<(?![a-z][a-z\d+.-]*[:@])(?=[a-z/?]|!--|!\[|![a-z][^>\n]*$)/gim, '$1< ')

function linkOf(tag: string): string | undefined {
  const address = attributeOf(tag, 'src')
  if (!address || /[\s()<>]/.test(address)) return undefined
  return `[${
    attributeOf(tag, 'alt')
      ?.replaceAll(/[[\]\n]/g, ' ')
      .trim() || 'image'
  }](${address})`
}

function attributeOf(tag: string, name: 'src' | 'alt'): string | undefined {
  const found = new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(tag)
  return found?.slice(1).find((value) => value !== undefined)
}
