// Splits a reply into chunks that fit a channel: at paragraphs, lines or words, never inside a character. A code block
// that is split is closed and reopened.

/** Deterministic, so that after a crash a delivery continues with the chunk at which it stopped. */
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
/** Below this limit, code blocks are split like any other text. */
const minLimitForCode = 24

interface Cut {
  at: number
  /** The opening line of the code block that the cut splits. */
  open: string | undefined
}

function findCut(rest: string, prefix: string, limit: number): Cut {
  const available = limit - prefix.length
  const at = findCutPoint(rest, available)
  if (limit < minLimitForCode || findOpenCodeFence(prefix + rest.slice(0, at)) === undefined)
    return { at, open: undefined }
  const shorter = findCutPoint(rest, available - closing.length)
  const head = rest.slice(0, shorter).trimEnd()
  const open = findOpenCodeFence(prefix + head)
  // Only the opening line of the block fits here, so the block begins in the next chunk.
  if (open !== undefined && head.endsWith(`\n${open}`)) return { at: head.length - open.length, open: undefined }
  return { at: shorter, open }
}

function findCutPoint(text: string, limit: number): number {
  const window = text.slice(0, limit + 1)
  for (const mark of ['\n\n', '\n', ' ']) {
    const at = window.lastIndexOf(mark)
    if (at >= limit / 2) return at
  }
  // A hard cut must not separate the two halves of a surrogate pair.
  if (!/[\uD800-\uDBFF]/.test(text[limit - 1] ?? '')) return limit
  return limit > 1 ? limit - 1 : 2
}

/** The opening line of a code block that is still open at the end of the text. */
function findOpenCodeFence(text: string): string | undefined {
  let open: string | undefined
  for (const line of text.split('\n')) if (line.startsWith(codeFence)) open = open === undefined ? line : undefined
  return open
}
