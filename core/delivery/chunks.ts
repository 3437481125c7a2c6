// Cuts a reply into messages that a channel takes: at paragraphs, lines or words, never inside a character; a parted
// code block is closed and opened again.

/** The same text and limit always give the same chunks: a delivery continues after a crash where it stopped. */
export function splitIntoChunks(text: string, limit: number): string[] {
  const chunks: string[] = []
  let rest = text.trim()
  let prefix = ''
  while (prefix.length + rest.length > limit) {
    const { at, open } = findCut(rest, prefix, limit)
    chunks.push(prefix + rest.slice(0, at).trimEnd() + (open === undefined ? '' : closing))
    const tail = rest.slice(at)
    const closes = open === undefined ? undefined : closingLine.exec(tail)?.[0]
    prefix = open === undefined || closes !== undefined ? '' : `${open.length < limit / 4 ? open : codeFence}\n`
    rest = prefix ? tail.replace(/^[\n ]/, '') : tail.slice(closes?.length).trimStart()
  }
  return rest ? [...chunks, prefix + rest] : chunks
}

const codeFence = '```'
const closing = `\n${codeFence}`
const closingLine = /^\s*```[ \t]*(?:\n|$)/
/** Where less fits into a message, code blocks are cut like any other text. */
const smallestForCode = 24

interface Cut {
  at: number
  /** The line that opened the code block which the cut parts. */
  open: string | undefined
}

function findCut(rest: string, prefix: string, limit: number): Cut {
  const room = limit - prefix.length
  const at = cutPoint(rest, room)
  if (limit < smallestForCode || openFence(prefix + rest.slice(0, at)) === undefined) return { at, open: undefined }
  const shorter = cutPoint(rest, room - closing.length)
  const head = rest.slice(0, shorter).trimEnd()
  const open = openFence(prefix + head)
  // Nothing of the block but its first line fits here: it begins in the next message.
  if (open !== undefined && head.endsWith(`\n${open}`)) return { at: head.length - open.length, open: undefined }
  return { at: shorter, open }
}

function cutPoint(text: string, limit: number): number {
  const window = text.slice(0, limit + 1)
  for (const mark of ['\n\n', '\n', ' ']) {
    const at = window.lastIndexOf(mark)
    if (at >= limit / 2) return at
  }
  // A hard cut must not part the two halves of one character.
  if (!/[\uD800-\uDBFF]/.test(text[limit - 1] ?? '')) return limit
  return limit > 1 ? limit - 1 : 2
}

/** The line that opened the code block which is still open at the end of the text. */
function openFence(text: string): string | undefined {
  let open: string | undefined
  for (const line of text.split('\n')) if (line.startsWith(codeFence)) open = open === undefined ? line : undefined
  return open
}
