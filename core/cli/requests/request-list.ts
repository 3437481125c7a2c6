// The matching requests of the gateway, page by page, each in one line.
import type { Control } from '../control-client.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { listPages } from '../inspect/list-pages.ts'

/** One line of `GET /api/requests`. */
export interface RequestLine {
  id: string
  at: string
  hook: string
  status: 'accepted' | 'skipped' | 'rejected' | 'failed' | 'duplicate'
  runIds?: readonly string[]
  eventIds?: readonly string[]
  error?: { type: string; message: string }
  reason?: string
  skippedBy?: { mapping: string; rule: number }
  replayOf?: string
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

/** Newest first. */
export async function* listRequests(
  control: Control,
  { hook, status, runStatus, since, until, text }: Filter,
): AsyncGenerator<RequestLine> {
  const query = { hook, status, runStatus, since, q: text }
  for await (const line of listPages<RequestLine>(control, '/api/requests', query))
    if (until === undefined || line.at < until) yield line
}

/** The outcome in a few words. */
export function describeLine({
  runIds = [],
  eventIds = [],
  error,
  reason,
  skippedBy,
  status,
  replayOf,
}: RequestLine): string {
  const counts = [countOf(runIds.length, 'run'), countOf(eventIds.length, 'event')].filter(Boolean).join(', ')
  const outcome = error
    ? `${error.type}: ${error.message}`
    : counts || (status === 'skipped' ? (skippedBy ? skipText(skippedBy) : (reason ?? 'nothing to do')) : '')
  return escapeInLine([outcome, replayOf && `replay of ${replayOf}`].filter(Boolean).join('; '))
}

/** Names conditions in the key `skip` of a mapping. */
export const skipText = ({ mapping, rule }: { mapping: string; rule: number }): string =>
  `skip[${rule}] of the mapping ${mapping}`

const countOf = (count: number, noun: string): string =>
  count === 0 ? '' : `${count} ${noun}${count === 1 ? '' : 's'}`

export const lineHead = ({ id, at, hook, status }: RequestLine): string =>
  `${id}  ${at}  ${status.padEnd(9)}  ${escapeInLine(hook)}`
