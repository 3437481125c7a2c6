// Removes the reasoning that some model servers leave in the text of an answer, such as `<think>…</think>`. The model
// library has a middleware for it, which knows one tag, finds it in code and in the middle of a sentence, too, and
// keeps a closing tag whose opening tag was in the server's template.

const names = ['think', 'thinking', 'thought', 'thoughts', 'reasoning', 'antthinking', 'antml:thinking', 'seed:think']
/** In lower case. */
const delimiters: readonly (readonly [opening: string, closing: string])[] = [
  ...names.map((name) => [`<${name}>`, `</${name}>`] as const),
  ['[think]', '[/think]'],
  ['◁think▷', '◁/think▷'],
  ['<|start_thinking|>', '<|end_thinking|>'],
]

/** Each closing delimiter, in any case. */
const patterns = new Map(delimiters.map(([, closing]) => [closing, new RegExp(RegExp.escape(closing), 'i')]))

/** Removes reasoning from a text that arrives in parts. */
export interface ReasoningFilter {
  /** Returns what people may read, as far as it is certain. */
  push(part: string): string
  /** Ends the text, and returns the rest. */
  end(): string
}

/** How much white space at the beginning of a line may precede an opening tag. Bounds what is held back. */
const maxIndent = 100

/** Longer than each delimiter. Only so much of a line is looked at, so that long texts are read in passing. */
const maxDelimiterLength = 20

interface Block {
  closing: string
  /** Nothing of the answer precedes it. */
  isLeading: boolean
  /** What was read of it. */
  parts: string[]
}

/**
 * A block of reasoning begins the answer or a line of it, outside of code. Without its end, it is all that the model
 * wrote if it begins the answer, and else a text that only mentions the tag.
 */
export function createReasoningFilter(): ReasoningFilter {
  let pending = ''
  let isLineStart = true
  let isLeading = true
  let skipsSpace = false
  let fence: string | undefined
  let block: Block | undefined

  /** Returns undefined if more of the text is needed. */
  function step(isEnd: boolean): string | undefined {
    if (block) return readBlock(block)
    if (skipsSpace) {
      pending = pending.trimStart()
      skipsSpace = pending === ''
    }
    if (pending === '') return undefined
    return isLineStart ? readLineStart(isEnd) : readLine()
  }

  function readBlock({ closing, parts }: Block): string | undefined {
    const index = pending.search(patterns.get(closing) as RegExp)
    // The end of what was read may be the beginning of the closing tag.
    const length = index === -1 ? Math.max(0, pending.length - closing.length + 1) : index + closing.length
    parts.push(pending.slice(0, length))
    pending = pending.slice(length)
    if (index === -1) return undefined
    block = undefined
    skipsSpace = true
    return ''
  }

  function readLineStart(isEnd: boolean): string | undefined {
    const white = isLeading ? /^\s*/ : /^[ \t]*/
    const indent = white.exec(pending.slice(0, maxIndent + 1))?.[0].length ?? 0
    if (indent > maxIndent) return readLine()
    const rest = pending.slice(indent)
    const head = toLowerAscii(rest.slice(0, maxDelimiterLength))
    const isUndecided = head === '' || starts(head).some((start) => start.length > head.length)
    if (isUndecided && !isEnd) return undefined
    const found = fence === undefined && delimiters.find(([opening]) => head.startsWith(opening))
    if (!found) return readLine()
    const [opening, closing] = found
    block = { closing, isLeading, parts: [pending.slice(0, indent + opening.length)] }
    pending = rest.slice(opening.length)
    return ''
  }

  /** What may begin the line: the delimiters and fences that begin as it does, or that it begins with. */
  function starts(head: string): string[] {
    const known = fence === undefined ? ['```', '~~~', ...delimiters.map(([opening]) => opening)] : [fence]
    return known.filter((start) => start.startsWith(head))
  }

  /** Reads the rest of a line, or what is there of it. */
  function readLine(): string {
    if (isLineStart) toggleFence()
    const index = pending.indexOf('\n')
    const line = index === -1 ? pending : pending.slice(0, index + 1)
    pending = pending.slice(line.length)
    isLineStart = index !== -1
    isLeading &&= line.trim() === ''
    return line
  }

  function toggleFence(): void {
    const [, mark] = /^[ \t]*(```|~~~)/.exec(pending) ?? []
    if (mark === undefined) return
    if (fence === undefined) fence = mark
    else if (fence === mark) fence = undefined
  }

  function read(isEnd: boolean): string {
    let visible = ''
    for (let part = step(isEnd); part !== undefined; part = step(isEnd)) visible += part
    return visible
  }

  return {
    push: (part) => {
      pending += part
      return read(false)
    },
    end: () => {
      const visible = read(true)
      const mention = block && !block.isLeading ? block.parts.join('') + pending : ''
      return visible + mention
    },
  }
}

const toLowerAscii = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/** Removes reasoning from a whole text. */
export function removeReasoning(text: string): string {
  const filter = createReasoningFilter()
  return removeUpToClosing(filter.push(text) + filter.end())
}

const closings: ReadonlySet<string> = new Set(delimiters.map(([, closing]) => closing))

/**
 * Some servers put the opening tag into the prompt, so that the answer has only the closing tag, on a line of its own.
 * What precedes it is reasoning. It is found only when the text is complete.
 */
export function removeUpToClosing(text: string): string {
  if (!/<\/|\[\/|◁\/|<\|/.test(text)) return text
  const lines = text.split('\n')
  let fence: string | undefined
  for (const [index, line] of lines.entries()) {
    const [, mark] = /^[ \t]*(```|~~~)/.exec(line) ?? []
    if (mark !== undefined) fence = fence === undefined ? mark : fence === mark ? undefined : fence
    if (fence === undefined && closings.has(toLowerAscii(line.trim())))
      return lines
        .slice(index + 1)
        .join('\n')
        .trimStart()
  }
  return text
}
