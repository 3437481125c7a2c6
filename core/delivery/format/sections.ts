// Divides a long Markdown text into sections that are formatted one after another, so that other work can go on between.
import { openBlock } from './code-blocks.ts'

export interface Section {
  markdown: string
  /** What is between it and the section before. */
  before: '' | '\n' | '\n\n'
}

/** Takes a few milliseconds to format, whatever it contains. Few texts are longer. */
const maxLength = 8192
const maxOpening = 256

/** Cuts at blank lines outside of code blocks, or else between lines, or else anywhere. Code goes on as a code block. */
export function splitIntoSections(markdown: string): Section[] {
  if (markdown.length <= maxLength) return [{ markdown, before: '' }]
  const sections: Section[] = []
  let lines: string[] = []
  let length = 0
  let before: Section['before'] = ''
  let block: ReturnType<typeof openBlock>
  const cut = (next: Section['before']): void => {
    sections.push({ markdown: lines.join('\n') + (block?.mark.close ?? ''), before })
    lines = block ? [block.mark.open.replace(/\n$/, '')] : []
    length = 0
    before = next
  }
  for (const line of markdown.split('\n')) {
    for (const [index, part] of partsOf(line).entries()) {
      if (length > 0 && length + part.length > maxLength) cut(index > 0 ? '' : '\n')
      else if (length > maxLength / 2 && !block && part.trim() === '') cut('\n\n')
      lines.push(part)
      length += part.length + 1
    }
    // The line of a block is repeated in each section, so it must be short.
    if (block) block = block.end.test(line) ? undefined : block
    else if (line.length < maxOpening) block = openBlock(line)
  }
  cut('')
  return sections
}

function partsOf(line: string): string[] {
  if (line.length <= maxLength) return [line]
  return Array.from({ length: Math.ceil(line.length / maxLength) }, (_, index) =>
    line.slice(index * maxLength, (index + 1) * maxLength),
  )
}
