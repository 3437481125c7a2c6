// Prints for people and programs: texts, aligned columns with a title and colours in a terminal, and JSON lines. Texts
// are escaped, so that what comes from outside cannot affect the terminal.
import { styleText } from 'node:util'
import { escapeForTerminal, escapeInLine } from '../kit/escape-for-terminal.ts'
import type { PrintedList } from '../plugin/command.ts'

/** The reader of a pipe may close it, as `head` does. */
export function stopAtClosedPipe(): void {
  process.stdout.on('error', () => process.exit(0))
}

/** Prints cells of which those that are a status have a colour. */
export const printRow = (cells: readonly string[]): void =>
  writeLine(cells.map((cell) => colourStatus(escapeInLine(cell))))

export const print = (text: string): void => void process.stdout.write(`${escapeForTerminal(text)}\n`)

/** Prints one line. */
export const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`)

const writeLine = (cells: readonly string[]): void => void process.stdout.write(`${cells.join('  ').trimEnd()}\n`)

/** Notices go to standard error. */
export async function printList<Item>(
  items: AsyncIterable<Item> | Iterable<Item>,
  { limit = Infinity, json = false, columns, noun }: PrintedList<Item>,
): Promise<void> {
  const shown: Item[] = []
  let hasMore = false
  for await (const item of items) {
    hasMore = shown.length === limit
    if (hasMore) break
    shown.push(item)
  }
  if (json) for (const item of shown) printJson(item)
  else printTable(shown, columns)
  if (shown.length === 0) process.stderr.write(`There are no ${noun} to list.\n`)
  if (hasMore) process.stderr.write(`There are more than ${limit} ${noun}; use --limit to see more.\n`)
}

function printTable<Item>(items: readonly Item[], columns: PrintedList<Item>['columns']): void {
  const rows = items.map((item) => Object.values(columns).map((text) => escapeInLine(text(item) ?? '')))
  const titles = process.stdout.isTTY && rows.length > 0 ? [Object.keys(columns)] : []
  const widths = Object.keys(columns).map((_, index) =>
    Math.max(...[...titles, ...rows].map((row) => row[index]?.length ?? 0)),
  )
  const pad = (row: readonly string[]): string[] => row.map((cell, index) => cell.padEnd(widths[index] ?? 0))
  for (const title of titles) writeLine(pad(title).map((cell) => styleText('dim', cell)))
  for (const row of rows) writeLine(pad(row).map(colourStatus))
}

const colours: Readonly<Record<string, readonly string[]>> = {
  green: ['succeeded', 'accepted', 'sent', 'connected', 'allow', 'approved'],
  red: ['failed', 'timed_out', 'rejected', 'error', 'deny', 'denied'],
  yellow: [
    'running',
    'queued',
    'waiting',
    'ask',
    'expired',
    'cancelled',
    'skipped',
    'unknown',
    'pending',
    'duplicate',
    'warn',
  ],
}

/** Colours a word that is a status. Outside of a terminal, and with NO_COLOR, `styleText` changes nothing. */
function colourStatus(text: string): string {
  const [colour] = Object.entries(colours).find(([, words]) => words.includes(text.trim())) ?? []
  return colour === undefined ? text : styleText(colour as 'green', text)
}

/** One field per line, and one line for each value of a list. Fields without a value are left out. */
export function printFields(fields: Readonly<Record<string, string | readonly string[] | undefined>>): void {
  const lines = Object.entries(fields).flatMap(([name, values = []]) =>
    [values].flat().flatMap((value) => (value === '' ? [] : [[name, value] as const])),
  )
  const width = Math.max(...lines.map(([name]) => name.length))
  for (const [name, value] of lines)
    writeLine([styleText('dim', name.padEnd(width)), colourStatus(escapeInLine(value))])
}
