// Descriptions and comments of Jira as plain text: they are texts, or documents in the Atlassian Document Format.

interface Node {
  readonly [key: string]: unknown
}

/** The most characters that are read; deeper or longer documents are cut. */
const mostCharacters = 5000
const mostNodes = 10_000
const deepest = 50

/** Returns a text as it is, the readable text of a document, and an empty text for anything else. */
export function documentText(body: unknown): string {
  if (typeof body === 'string') return body
  const text: string[] = []
  let [length, nodes] = [0, 0]
  const write = (part: string): void => {
    text.push(part)
    length += part.length
  }
  const read = (node: unknown, depth: number, prefix: string): void => {
    if (!isNode(node) || depth > deepest || length > mostCharacters || ++nodes > mostNodes) return
    const type = typeof node['type'] === 'string' ? node['type'] : ''
    const inline = inlineText(type, node)
    if (inline !== undefined) return write(inline)
    const isItem = type === 'listItem' || type === 'taskItem' || type === 'decisionItem'
    if (isItem) write(prefix)
    const children = Array.isArray(node['content']) ? (node['content'] as unknown[]) : []
    let number = 0
    for (const child of children) {
      if (length > mostCharacters || nodes > mostNodes) return
      read(child, depth + 1, type === 'orderedList' ? `${(number += 1)}. ` : '- ')
    }
    if (type === 'tableCell' || type === 'tableHeader') endWith(text, ' | ')
    else if (type === 'tableRow') endWith(text, '\n')
    else if (endsLine.has(type)) write('\n')
  }
  read(body, 0, '')
  return text.join('').trim()
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The text of a node that has no children to read; undefined for the others. */
function inlineText(type: string, { text, attrs }: Node): string | undefined {
  const attributes = isNode(attrs) ? attrs : {}
  const attribute = (name: string): string => (typeof attributes[name] === 'string' ? attributes[name] : '')
  switch (type) {
    case 'text':
      return typeof text === 'string' ? text.slice(0, mostCharacters) : ''
    case 'hardBreak':
      return '\n'
    case 'rule':
      return '---\n'
    case 'mention':
    case 'status':
      return attribute('text').slice(0, 300)
    case 'emoji':
      return (attribute('text') || attribute('shortName')).slice(0, 300)
    case 'inlineCard':
      return attribute('url').slice(0, 1000)
    case 'blockCard':
    case 'embedCard':
      return `${attribute('url').slice(0, 1000)}\n`
    case 'date': {
      const date = new Date(Number(attribute('timestamp') || Number.NaN))
      return Number.isNaN(date.getTime()) ? '' : date.toISOString().slice(0, 10)
    }
    case 'media':
    case 'mediaInline':
      return `[${attribute('alt').slice(0, 300) || 'file'}]`
    default:
      return undefined
  }
}

/** Blocks that are a line of their own. */
const endsLine: ReadonlySet<string> = new Set([
  'paragraph',
  'heading',
  'codeBlock',
  'taskItem',
  'decisionItem',
  'mediaSingle',
  'mediaGroup',
  'caption',
])

/** Replaces the end of the last block: the cells of a row are on one line. */
function endWith(text: string[], end: string): void {
  if (text.at(-1) === '\n' || text.at(-1) === ' | ') text.pop()
  text.push(end)
}
