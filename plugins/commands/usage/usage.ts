// Shows the usage of models as a table that fits a terminal, as comma-separated values or as JSON.
import { formatUsd } from 'svc-gateway/kit'
import { type CommandContext, CommandError } from 'svc-gateway/plugin'

/** The usage of `GET /api/usage`. */
interface Usage {
  steps: number
  unpricedSteps?: number
  inputTokens: number
  cachedInputTokens: number
  cacheWriteTokens: number
  outputTokens: number
  reasoningTokens: number
  totalTokens: number
  /** Absent: no call has a known price. */
  cost?: number
}

type Item = Usage & { period?: string; others?: true } & Readonly<Record<string, unknown>>

interface Report {
  timezone: string
  total: Usage
  items: readonly Item[]
}

interface Input {
  by: string | undefined
  per: string | undefined
  since: string
  until: string | undefined
  csv: boolean | undefined
  json?: boolean
}

export async function showUsage(input: Input, { control, terminal }: CommandContext<'control'>): Promise<void> {
  const { by, since, until, csv, json } = input
  if (csv && json) throw new CommandError('Use either --csv or --json.')
  const per = input.per ?? (by ? undefined : 'day')
  const query = new URLSearchParams({ since, ...(by && { by }), ...(per && { per }), ...(until && { until }) })
  const report = await control.get<Report>(`/api/usage?${query.toString()}`)
  if (json) return terminal.printJson(report)
  if (csv) return printCsv(report, { by, per }, terminal)
  await printTable(report, { by, per }, terminal)
}

type Terminal = CommandContext<'control'>['terminal']
type Split = Pick<Input, 'by' | 'per'>

const csvColumns = [
  'steps',
  'unpricedSteps',
  'inputTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'outputTokens',
  'reasoningTokens',
  'totalTokens',
  'cost',
] as const

function printCsv({ items }: Report, { by, per }: Split, terminal: Terminal): void {
  const keys = [...(per ? ['period'] : []), ...(by ? [by] : [])]
  terminal.print([...keys, ...csvColumns].join(','))
  for (const item of items) {
    const cells = { unpricedSteps: 0, ...item, ...(by && item.others && { [by]: 'others' }) }
    terminal.print([...keys, ...csvColumns].map((name) => toCsv(cells[name as keyof typeof cells])).join(','))
  }
}

const toCsv = (value: unknown): string => {
  const text = typeof value === 'string' ? value : typeof value === 'number' ? formatNumber(value) : ''
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Without an exponent, which small costs would have. */
const formatNumber = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(9))

const terminalWidth = 80

async function printTable({ total, items, timezone }: Report, { by, per }: Split, terminal: Terminal): Promise<void> {
  const rows = [...items, ...(items.length > 1 ? [{ ...total, isTotal: true as const }] : [])]
  const columns: Record<string, (item: Item & { isTotal?: true }) => string> = {
    ...(per && { [per.toUpperCase()]: ({ period, isTotal }) => (isTotal ? 'total' : (period ?? '')) }),
    ...(by && { [by.toUpperCase()]: (item) => nameOf(item, by, per !== undefined) }),
    CALLS: ({ steps }) => String(steps),
    INPUT: ({ inputTokens }) => formatTokens(inputTokens),
    CACHED: ({ cachedInputTokens }) => formatTokens(cachedInputTokens),
    OUTPUT: ({ outputTokens }) => formatTokens(outputTokens),
    COST: formatCost,
  }
  await terminal.printList(rows, { noun: 'calls of models', columns: align(columns, rows, by?.toUpperCase()) })
  if (items.length === 0) return
  if (per) terminal.notify(`Times are of the time zone ${timezone}.`)
  if (total.unpricedSteps)
    terminal.notify(
      `The price of ${total.unpricedSteps} of ${total.steps} calls is not known, so the cost is higher than shown; set ` +
        'agents.defaults.models[].price.',
    )
}

function nameOf(item: Item & { isTotal?: true }, by: string, hasPeriod: boolean): string {
  if (item.isTotal) return hasPeriod ? '' : 'total'
  if (item.others) return '(others)'
  const name = item[by]
  return typeof name === 'string' ? name : `(no ${by})`
}

type Columns<Row> = Record<string, (row: Row) => string>

/** Numbers end at the same place, and names are cut where a line would be too long. */
function align<Row>(columns: Columns<Row>, rows: readonly Row[], names: string | undefined): Columns<Row> {
  const widths = Object.entries(columns).map(
    ([title, text]) => [title, Math.max(title.length, ...rows.map((row) => text(row).length))] as const,
  )
  const others = widths.reduce((sum, [title, width]) => sum + (title === names ? 0 : width + 2), 0)
  const numbers = new Set(['CALLS', 'INPUT', 'CACHED', 'OUTPUT', 'COST'])
  return Object.fromEntries(
    widths.map(([title, width]) => {
      const text = columns[title] as (row: Row) => string
      if (title === names) return [title, (row: Row) => cut(text(row), Math.max(10, terminalWidth - others))]
      const name = numbers.has(title) ? title.padStart(width) : title
      return [name, (row: Row) => (numbers.has(title) ? text(row).padStart(width) : text(row))]
    }),
  )
}

/** The end of a session's key tells more than its beginning. */
const cut = (text: string, width: number): string => (text.length <= width ? text : `…${text.slice(1 - width)}`)

/** `950`, `12.3K`, `4.56M`. */
const formatTokens = (tokens: number): string =>
  new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 }).format(tokens)

/** The sign shows that there is more, of which the price is not known. */
const formatCost = ({ cost, unpricedSteps }: Usage): string =>
  cost === undefined ? 'unknown' : `${formatUsd(cost)}${unpricedSteps ? '+' : ''}`
