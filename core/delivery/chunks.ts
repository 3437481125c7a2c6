// Cuts a reply into messages that a channel takes: at paragraphs, lines or words, never inside a character or an open code fence.

/** The same text and limit always give the same chunks: a delivery continues after a crash where it stopped. */
export function chunk(text: string, limit: number): string[] {
  const chunks: string[] = []
  let rest = text.trim()
  while (rest.length > limit) {
    const { head, tail } = cutOnce(rest, limit)
    chunks.push(head)
    rest = tail
  }
  return rest ? [...chunks, rest] : chunks
}

const codeFence = '```'

function cutOnce(text: string, limit: number): { head: string; tail: string } {
  const at = cutPoint(text, limit)
  const head = text.slice(0, at).trimEnd()
  const tail = text.slice(at).trimStart()
  const opener = openFence(head)
  // A cut inside a code block closes the block here and opens it again in the next message.
  const closed = `${head}\n${codeFence}`
  if (opener === undefined) return { head, tail }
  if (closed.length <= limit && opener.length + 1 < limit / 2) return { head: closed, tail: `${opener}\n${text.slice(at).replace(/^\n/, '')}` }
  const shorter = cutPoint(text, limit - codeFence.length - 1)
  if (shorter < 1 || opener.length + 1 >= limit / 2) return { head, tail }
  return { head: `${text.slice(0, shorter).trimEnd()}\n${codeFence}`, tail: `${opener}\n${text.slice(shorter).replace(/^\n/, '')}` }
}

function cutPoint(text: string, limit: number): number {
  const window = text.slice(0, limit + 1)
  for (const mark of ['\n\n', '\n', ' ']) {
    const at = window.lastIndexOf(mark)
    if (at >= limit / 2) return at
  }
  // A hard cut must not part the two halves of one character.
  return /[\uD800-\uDBFF]/.test(text[limit - 1] ?? '') ? limit - 1 : limit
}

/** The line that opened the code block which is still open at the end of the text. */
function openFence(text: string): string | undefined {
  let open: string | undefined
  for (const line of text.split('\n')) if (line.startsWith(codeFence)) open = open === undefined ? line : undefined
  return open
}
