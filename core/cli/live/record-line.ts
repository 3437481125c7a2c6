// The records of the WebSocket: which ones a filter selects, and each in one readable line.
import type { Run } from '../../control/runs.ts'
import type { LogRecord } from '../../control/ws/log-stream.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { colourStatus } from '../inspect/output.ts'
import { describeLine, type RequestLine } from '../requests/request-list.ts'

/** The topics, and the record of each. */
interface Records {
  request: RequestLine
  event: { id: string; sessionKey: string; text: string; mode: string; at: string }
  run: Run
  outbox: { id: string; runId?: string; channel: string; to: string; status: string; reason?: string }
  log: LogRecord
}

export type Topic = keyof Records

export interface RecordFilter {
  hook?: string
  run?: string
  /** The lowest level of the log. */
  level?: LogRecord['level']
}

export const levels = ['debug', 'info', 'warn', 'error'] as const

/** The hook, the runs and the text of a record. */
interface Facts {
  at?: string
  status: string
  hook?: string
  runs: readonly string[]
  text: string
}

const readers: { [Name in Topic]: (record: Records[Name]) => Facts } = {
  request: (line) => ({
    at: line.at,
    status: line.status,
    hook: line.hook,
    runs: line.runIds ?? [],
    text: [line.hook, line.id, describeLine(line)].filter(Boolean).join('  '),
  }),
  event: ({ at, mode, sessionKey, text }) => ({ at, status: mode, runs: [], text: `${sessionKey}  ${text}` }),
  run: ({ id, status, origin, sessionKey, error, reply, endedAt, startedAt, createdAt }) => ({
    at: endedAt ?? startedAt ?? createdAt,
    status,
    ...(origin.kind === 'hook' && { hook: origin.name }),
    runs: [id],
    text: [origin.name, id, sessionKey, error ? `${error.type}: ${error.message}` : (reply ?? '')].join('  '),
  }),
  outbox: ({ status, runId, channel, to, id, reason }) => ({
    status,
    runs: runId === undefined ? [] : [runId],
    text: [`to ${to} on ${channel}`, id, reason ?? ''].join('  '),
  }),
  log: ({ at, level, component, message, fields }) => ({
    at,
    status: level,
    ...textField(fields, 'hook'),
    runs: [fields, textField(fields, 'runId')].flatMap((one) => ('runId' in one ? [String(one.runId)] : [])),
    text: `[${component}] ${message}${Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''}`,
  }),
}

function textField(fields: object, name: string): Record<string, string> {
  const value = (fields as Record<string, unknown>)[name]
  return typeof value === 'string' ? { [name]: value } : {}
}

const readRecord = (topic: Topic, record: unknown): Facts => (readers[topic] as (given: unknown) => Facts)(record)

/** A filter selects the records that are known to fit. The level applies to the log alone. */
export function isSelected(topic: Topic, record: unknown, { hook, run, level }: RecordFilter): boolean {
  const facts = readRecord(topic, record)
  if (hook !== undefined && facts.hook !== hook) return false
  if (run !== undefined && !facts.runs.includes(run)) return false
  return topic !== 'log' || level === undefined || levels.indexOf((record as LogRecord).level) >= levels.indexOf(level)
}

/** The records of the outbox have no time of their change, so they get the present. */
export function describeRecord(topic: Topic, record: unknown): string {
  const { at = new Date().toISOString(), status, text } = readRecord(topic, record)
  return [at, topic.padEnd(7), colourStatus(status.padEnd(9)), escapeInLine(text).trimEnd()].join('  ')
}
