// The records of the WebSocket: what a filter and a reader need to know of each.
import { describeStep, type RunStep } from 'svc-gateway/kit'

/** What the records of all topics may have. */
interface GatewayRecord {
  id: string
  at: string
  status: string
  hook: string
  runIds?: readonly string[]
  eventIds?: readonly string[]
  runId?: string
  sessionKey: string
  mode: string
  text: string
  reason?: string
  error?: { type: string; message: string }
  origin: { kind: string; name: string }
  reply?: string
  createdAt: string
  startedAt?: string
  endedAt?: string
  agentId: string
  tool: string
  rule: string
  answeredAt?: string
  channel: string
  to: string
  level: Level
  component: string
  message: string
  fields: Readonly<Record<string, unknown>>
}

const levels = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof levels)[number]

export interface RecordFilter {
  hook?: string
  run?: string
  /** The lowest level of the log. */
  level?: Level
}

export interface Facts {
  at?: string | undefined
  status: string
  hook?: unknown
  /** The ids of the runs that it is about. */
  runs: readonly unknown[]
  /** Of a line of the log. */
  level?: Level
  text: string
}

/** A step that begins or has ended. Its fields are those of the command `runs show`. */
function readStep(step: RunStep & { runId: string; sessionKey: string }): Facts {
  const [what = '', time = '', details = ''] = describeStep(step)
  return {
    at: step.endedAt ?? step.startedAt,
    status: step.status,
    runs: [step.runId],
    text: [step.runId, what, time, details].filter(Boolean).join('  '),
  }
}

const readers: Readonly<Record<string, (record: GatewayRecord) => Facts>> = {
  request: ({ at, status, hook, runIds = [], ...record }) => {
    const text = [hook, record.id, describeOutcome({ runIds, ...record })].filter(Boolean).join('  ')
    return { at, status, hook, runs: runIds, text }
  },
  event: ({ at, mode, sessionKey, text }) => ({ at, status: mode, runs: [], text: `${sessionKey}  ${text}` }),
  run: ({ id, status, origin, sessionKey, error, reply, endedAt, startedAt, createdAt }) => ({
    at: endedAt ?? startedAt ?? createdAt,
    status,
    ...(origin.kind === 'hook' && { hook: origin.name }),
    runs: [id],
    text: [origin.name, id, sessionKey, error ? `${error.type}: ${error.message}` : (reply ?? '')].join('  '),
  }),
  step: (record) => readStep(record as unknown as RunStep & { runId: string; sessionKey: string }),
  outbox: ({ status, runId, channel, to, id, reason }) => ({
    status,
    runs: [runId],
    text: [`to ${to} on ${channel}`, id, reason ?? ''].join('  '),
  }),
  approval: ({ id, status, createdAt, answeredAt, runId, agentId, tool, rule }) => ({
    at: answeredAt ?? createdAt,
    status,
    runs: [runId],
    text: [agentId, tool, id, rule].join('  '),
  }),
  log: ({ at, level, component, message, fields }) => ({
    at,
    status: level,
    level,
    hook: fields['hook'],
    runs: [fields['runId']],
    text: `[${component}] ${message}${Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''}`,
  }),
}

export const readRecord = (topic: string, record: unknown): Facts =>
  readers[topic]?.(record as GatewayRecord) ?? { status: '', runs: [], text: JSON.stringify(record) }

const describeOutcome = ({ error, reason, runIds = [], eventIds = [] }: Partial<GatewayRecord>): string =>
  error ? `${error.type}: ${error.message}` : countOf(runIds, 'run') || countOf(eventIds, 'event') || (reason ?? '')

const countOf = ({ length }: readonly string[], noun: string): string =>
  length === 0 ? '' : `${length} ${noun}${length === 1 ? '' : 's'}`

/** A filter selects the records that are known to fit. The level applies to the log alone. */
export function isSelected(facts: Facts, { hook, run, level }: RecordFilter): boolean {
  if (hook !== undefined && facts.hook !== hook) return false
  if (run !== undefined && !facts.runs.includes(run)) return false
  return level === undefined || facts.level === undefined || levels.indexOf(facts.level) >= levels.indexOf(level)
}
