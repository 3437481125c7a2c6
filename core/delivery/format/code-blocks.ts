// Finds the code blocks of a Markdown text that stays Markdown, so that each chunk of a split block is a code block.
import type { Mark, Span } from './styled-text.ts'

const openingLine = /^([ \t]*)(`{3,}(?=[^`]*$)|~{3,})/

interface Block {
  mark: Mark
  /** Matches the closing line. */
  end: RegExp
}

export function markCodeBlocks(markdown: string): Span[] {
  const spans: Span[] = []
  let lines: string[] = []
  let block: Block | undefined
  const finish = (lineBreak: string): void => {
    const text = lines.join('\n')
    spans.push({ text: block ? text : text + lineBreak, marks: block ? [block.mark] : [] })
    lines = []
  }
  for (const line of markdown.split('\n')) {
    if (block?.end.test(line)) {
      finish('')
      block = undefined
      // The line break after the closing line.
      lines = ['']
      continue
    }
    const opened = block ? undefined : openBlock(line)
    if (!opened) {
      lines.push(line)
      continue
    }
    finish(lines.length > 0 ? '\n' : '')
    block = opened
  }
  finish('')
  return spans
}

export function openBlock(line: string): Block | undefined {
  const [, indent = '', codeFence] = openingLine.exec(line) ?? []
  if (codeFence === undefined) return undefined
  const close = `\n${indent}${codeFence}`
  return {
    mark: {
      open: `${line}\n`,
      close,
      isBlock: true,
      short: { open: `${indent}${codeFence}\n`, close, isBlock: true },
    },
    end: new RegExp(`^[ \\t]*${codeFence[0]}{${codeFence.length},}[ \\t]*$`),
  }
}
