// Prints lists: aligned columns with a title and colours in a terminal, plain lines elsewhere, or one JSON object per
// line.
import { styleText } from 'node:util'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'

export interface Column<Item> {
  title: string
  text(item: Item): string
}

export interface ListOptions {
  limit: number
  json?: boolean | undefined
}

interface List<Item> {
  columns: readonly Column<Item>[]
  /** What the items are, for messages. */
  noun: string
}

/** Prints at most `limit` items, or all. Notices go to standard error. */
export async function printList<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  { limit = Infinity, json }: Partial<ListOptions>,
  { columns, noun }: List<Item>,
): Promise<void> {
  stopAtClosedPipe()
  const shown: Item[] = []
  let hasMore = false
  for await (const item of items) {
    hasMore = shown.length === limit
    if (hasMore) break
    shown.push(item)
  }
  if (json) for (const item of shown) printJson(item)
  else process.stdout.write(formatTable(shown, columns))
  if (shown.length === 0) process.stderr.write(`There are no ${noun} to list.\n`)
  if (hasMore) process.stderr.write(`There are more than ${limit} ${noun}; use --limit to see more.\n`)
}

/** Prints one line. */
export const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`)

function formatTable<Item>(items: readonly Item[], columns: readonly Column<Item>[]): string {
  const rows = items.map((item) => columns.map(({ text }) => escapeInLine(text(item))))
  const titles = columns.map(({ title }) => title)
  const hasTitles = process.stdout.isTTY && rows.length > 0
  const widths = columns.map((_, index) =>
    Math.max(...[...(hasTitles ? [titles] : []), ...rows].map((row) => row[index]?.length ?? 0)),
  )
  const lines = rows.map((row) => row.map((cell, index) => colourStatus(cell.padEnd(widths[index] ?? 0))))
  const title = titles.map((cell, index) => styleText('dim', cell.padEnd(widths[index] ?? 0)))
  return [...(hasTitles ? [title] : []), ...lines].map((cells) => `${cells.join('  ').trimEnd()}\n`).join('')
}

const green = new Set(['succeeded', 'accepted', 'sent', 'connected', 'allow'])
const red = new Set(['failed', 'timed_out', 'rejected', 'error', 'deny'])
const yellow = new Set(['running', 'queued', 'cancelled', 'skipped', 'unknown', 'pending', 'duplicate', 'warn'])

/** Colours a word that is a status. Outside of a terminal, and with NO_COLOR, `styleText` changes nothing. */
export function colourStatus(text: string): string {
  const word = text.trim()
  if (green.has(word)) return styleText('green', text)
  if (red.has(word)) return styleText('red', text)
  return yellow.has(word) ? styleText('yellow', text) : text
}

/** One field per line, and one line for each value of a list. Fields without a value are left out. */
export function printFields(fields: Readonly<Record<string, string | readonly string[] | undefined>>): void {
  const lines = Object.entries(fields).flatMap(([name, values = []]) =>
    [values].flat().map((value) => [name, value] as const),
  )
  const present = lines.filter(([, value]) => value !== '')
  const width = Math.max(...present.map(([name]) => name.length))
  for (const [name, value] of present)
    process.stdout.write(`${styleText('dim', name.padEnd(width))}  ${colourStatus(escapeInLine(value))}\n`)
}

/** The reader of a pipe may close it, as `head` does. */
export function stopAtClosedPipe(): void {
  process.stdout.on('error', () => process.exit(0))
}
