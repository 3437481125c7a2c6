// Extracts the readable text of an HTML page in one pass: without markup and scripts, links with their targets.

/** What a person reads of a page. */
export interface Readable {
  title?: string
  text: string
}

/** Elements whose content is not readable text. */
const silent: ReadonlySet<string> = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'math',
  'iframe',
  'object',
  'head',
  'nav',
  'select',
  'textarea',
])
/** Elements that start and end a line. */
const blocks: ReadonlySet<string> = new Set(
  (
    'address article aside blockquote br dd details div dl dt fieldset figcaption figure footer form ' +
    'h1 h2 h3 h4 h5 h6 header hr li main ol p pre section summary table td th tr ul'
  ).split(' '),
)
const headings: Readonly<Record<string, string>> = {
  h1: '# ',
  h2: '## ',
  h3: '### ',
  h4: '#### ',
  h5: '##### ',
  h6: '###### ',
  li: '- ',
}

/**
 * Reads the text of an HTML page: headings, lists, tables and links in plain lines, without scripts and hidden parts.
 * The time grows linearly with the page.
 * @param base the address of the page, from which relative links are resolved
 */
export function readHtml(html: string, base: string): Readable {
  const title = titleOf(html)
  const page = createPage(base)
  let at = 0
  while (at < html.length) {
    const open = html.indexOf('<', at)
    page.text(html.slice(at, open === -1 ? html.length : open))
    if (open === -1) break
    at = afterMarkup(html, open, page)
  }
  return { ...(title && { title }), text: page.end() }
}

function titleOf(html: string): string {
  const start = /<title[^>]{0,1000}>/i.exec(html.slice(0, 100_000))
  if (!start) return ''
  const from = start.index + start[0].length
  const end = html.indexOf('<', from)
  return decode(html.slice(from, end === -1 ? from : end))
    .replace(/\s+/g, ' ')
    .trim()
}

/** Reads a tag or comment that begins with `<`, and returns where the text continues. */
function afterMarkup(html: string, open: number, page: Page): number {
  if (html.startsWith('<!--', open)) return behind(html, '-->', open + 4)
  const [, slash = '', name = ''] = /^<(\/?)([a-zA-Z][a-zA-Z0-9-]{0,40})/.exec(html.slice(open, open + 50)) ?? []
  // A lone `<` is text; `<!doctype` and the like are not.
  if (!name) {
    const isMarkup = /^<[!?/]/.test(html.slice(open, open + 2))
    if (!isMarkup) page.text('<')
    return isMarkup ? behind(html, '>', open) : open + 1
  }
  const tag = name.toLowerCase()
  const end = behind(html, '>', open)
  if (slash) page.close(tag)
  else if (tag === 'script' || tag === 'style' || tag === 'textarea') return skipRaw(html, tag, end)
  else page.open(tag, html.slice(open, end))
  return end
}

const behind = (html: string, mark: string, from: number): number => {
  const found = html.indexOf(mark, from)
  return found === -1 ? html.length : found + mark.length
}

/** The content of a script is not markup. */
function skipRaw(html: string, tag: string, from: number): number {
  const close = new RegExp(`</${tag}[^a-zA-Z]`, 'gi')
  close.lastIndex = from
  const found = close.exec(html)
  return found ? behind(html, '>', found.index) : html.length
}

type Page = ReturnType<typeof createPage>

function createPage(base: string) {
  const out: string[] = []
  /** The outermost enclosing element that is skipped, and how deeply elements of its name are nested. */
  const hush = { tag: '', depth: 0 }
  let link: string | undefined

  const line = (): void => void out.push('\n')
  return {
    text(raw: string) {
      if (hush.depth === 0 && raw) out.push(decode(raw).replace(/\s+/g, ' '))
    },
    open(tag: string, markup: string) {
      // The head ends where the body begins, also without an end tag.
      if (tag === 'body') hush.depth = 0
      else if (hush.depth > 0) hush.depth += hush.tag === tag ? 1 : 0
      else if (silent.has(tag)) Object.assign(hush, { tag, depth: markup.endsWith('/>') ? 0 : 1 })
      else if (tag === 'a') link = targetOf(markup, base)
      else if (blocks.has(tag)) {
        line()
        out.push(headings[tag] ?? '')
      }
    },
    close(tag: string) {
      if (hush.depth > 0) hush.depth -= hush.tag === tag ? 1 : 0
      else if (tag === 'a' && link !== undefined) {
        out.push(` (${link})`)
        link = undefined
      } else if (blocks.has(tag)) line()
    },
    end: () => tidy(out.join('')),
  }
}

function targetOf(markup: string, base: string): string | undefined {
  const [, double, single, plain] =
    /\shref\s*=\s*(?:"([^"]{0,2000})"|'([^']{0,2000})'|([^\s>"']{1,2000}))/i.exec(markup.slice(0, 5000)) ?? []
  const href = decode(double ?? single ?? plain ?? '').trim()
  if (!href || href.startsWith('#')) return undefined
  const url = URL.parse(href, base)
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}

/** Removes repeated blank lines, trailing spaces and empty headings. */
const tidy = (text: string): string =>
  text
    .split('\n')
    .map((one) => one.trim().replace(/ {2,}/g, ' '))
    .filter((one) => !/^(#{1,6}|-)$/.test(one))
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()

const named: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  bull: '•',
  middot: '·',
  times: '×',
  deg: '°',
  euro: '€',
  pound: '£',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
  agrave: 'à',
  ccedil: 'ç',
  ntilde: 'ñ',
}

const decode = (text: string): string =>
  text.includes('&') ? text.replace(/&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z]{2,8});/g, decodeOne) : text

/** @param inside the text between `&` and `;` */
function decodeOne(entity: string, inside: string): string {
  if (!inside.startsWith('#')) return (Object.hasOwn(named, inside) && named[inside]) || entity
  const code = Number(inside.slice(1).replace(/^[xX]/, '0x'))
  return code > 0 && code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff) ? String.fromCodePoint(code) : '\uFFFD'
}
