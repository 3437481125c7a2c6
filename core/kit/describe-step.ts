// Describes a step of a run in one line, for commands.
import { formatUsd } from './format-usd.ts'

/** A step, as in `GET /runs/<id>/steps`. */
export interface RunStep {
  number: number
  attempt: number
  kind: 'model' | 'tool'
  status: string
  startedAt: string
  endedAt?: string
  model?: string
  firstTokenMs?: number
  usage?: { inputTokens: number; outputTokens: number; cost?: number }
  text?: string
  tool?: string
  verdict?: string
  rule?: string
  args?: unknown
  result?: unknown
  resultLength?: number
  error?: string
  thrown?: string
}

/** @returns what it was (`model`, `tool read`), how long it took, and its details */
export function describeStep({ startedAt, endedAt, ...step }: RunStep): readonly string[] {
  const details = step.kind === 'model' ? detailsOfModel(step) : detailsOfTool(step)
  const what = step.kind === 'model' ? 'model' : `tool ${step.tool}`
  return [what, durationOf(startedAt, endedAt), [statusOf(step.status), ...details].filter(Boolean).join(' · ')]
}

/** A step that succeeded needs no word for that. */
const statusOf = (status: string): string =>
  status === 'waiting' ? 'waiting for an approval' : status === 'succeeded' ? '' : status

type Details = readonly (string | undefined)[]

const detailsOfModel = ({ model, usage, firstTokenMs, error }: Omit<RunStep, 'startedAt'>): Details => [
  model,
  usage && `${formatCount(usage.inputTokens)} → ${formatCount(usage.outputTokens)} tokens`,
  usage?.cost === undefined ? undefined : formatUsd(usage.cost),
  firstTokenMs === undefined ? undefined : `first after ${formatMs(firstTokenMs)}`,
  error,
]

function detailsOfTool({ args, verdict, rule, resultLength, error, thrown }: Omit<RunStep, 'startedAt'>): Details {
  const judged = { deny: 'denied:', ask: 'asked by' }[verdict ?? ''] ?? 'allowed by'
  return [
    summarize(args),
    rule === undefined ? undefined : `${judged} ${rule}`,
    resultLength === undefined ? undefined : formatSize(resultLength),
    error,
    thrown,
  ]
}

const maxArgsLength = 80

/** The value of a single argument, or all arguments. */
function summarize(args: unknown): string {
  if (args === undefined) return ''
  const values = typeof args === 'object' && args !== null ? Object.values(args) : [args]
  const [only] = values
  const text = values.length === 1 && typeof only === 'string' ? only : values.length === 0 ? '' : JSON.stringify(args)
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > maxArgsLength ? `${line.slice(0, maxArgsLength).toWellFormed()}…` : line
}

const durationOf = (startedAt: string, endedAt: string | undefined): string =>
  endedAt === undefined ? '' : formatMs(Date.parse(endedAt) - Date.parse(startedAt))

/** A duration as text: `40 ms`, `0.4 s`, `12 s`, `3 min 20 s`. */
export function formatMs(ms: number): string {
  if (ms < 100) return `${ms} ms`
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.round(ms / 1000)
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}

const formatCount = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ')

const formatSize = (characters: number): string =>
  characters < 1000 ? `${characters} characters` : `${Math.round(characters / 1000)} kB`
