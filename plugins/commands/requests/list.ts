// The matching requests of the gateway, each in one line.
import { escapeForTerminal, escapeInLine } from 'svc-gateway/kit'
import type { ControlClient } from 'svc-gateway/plugin'

/** One line of `GET /api/requests`. */
export interface RequestLine {
  id: string
  at: string
  hook: string
  status: 'accepted' | 'skipped' | 'rejected' | 'failed' | 'duplicate'
  runIds?: readonly string[]
  eventIds?: readonly string[]
  error?: { type: string; message: string; detail?: string }
  count?: number
  reason?: string
  skippedBy?: SkipRule
  replayOf?: string
}

/** Names conditions in the key `skip` of a mapping. */
export interface SkipRule {
  mapping: string
  rule: number
}

export interface Filter {
  hook?: string
  status?: RequestLine['status']
  runStatus?: string
  /** ISO 8601 */
  since?: string
  until?: string
  text?: string
}

export const isFiltered = ({ hook, status, runStatus, since, until, text }: Filter): boolean =>
  [hook, status, runStatus, since, until, text].some((value) => value !== undefined)

/** Newest first. */
export async function* listRequests(
  control: ControlClient,
  { hook, status, runStatus, since, until, text }: Filter,
): AsyncGenerator<RequestLine> {
  const query = { hook, status, runStatus, since, q: text }
  for await (const line of control.list<RequestLine>('/api/requests', query))
    if (until === undefined || line.at < until) yield line
}

/** The outcome in a few words. */
export function describeLine({ runIds = [], eventIds = [], replayOf, ...line }: RequestLine): string {
  const { error, reason = 'nothing to do', skippedBy, status, count } = line
  const counts = [countOf(runIds, 'run'), countOf(eventIds, 'event')].filter(Boolean).join(', ')
  const skipped = status === 'skipped' ? (skippedBy ? describeSkip(skippedBy) : reason) : ''
  const outcome = error ? [`${error.type}:`, error.message, error.detail].filter(Boolean).join(' ') : counts || skipped
  return [outcome, count && `the last of ${count} requests`, replayOf && `replay of ${replayOf}`]
    .filter(Boolean)
    .join('; ')
}

export const describeSkip = ({ mapping, rule }: SkipRule): string => `skip[${rule}] of the mapping ${mapping}`

const countOf = ({ length }: readonly string[], noun: string): string =>
  length === 0 ? '' : `${length} ${noun}${length === 1 ? '' : 's'}`

/** The first cells of the line of a request. */
export const lineHead = ({ id, at, hook, status }: RequestLine): string[] => [id, at, status.padEnd(9), hook]

/** A field and its value, in the description of one request. */
export const row = (name: string, text: string): string => `  ${name.padEnd(9)} ${escapeInLine(text)}`.trimEnd()

/** A text of several lines. */
export const block = (text: string): string[] => text.split('\n').map((line) => `    | ${escapeForTerminal(line)}`)
