// The requests that a command is for: its options, and the lines that the gateway has of them, page by page.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../config/duration.ts'
import type { Control } from './control-client.ts'
import { runStatuses } from '../store/run-spec.ts'
import { escapeInLine } from './escape-for-terminal.ts'

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

export const withFilterOptions = (command: Command): Command =>
  command
    .option('--hook <name>', 'only those of this hook')
    .addOption(
      new Option('--status <status>', 'only those with this status').choices([
        'accepted',
        'skipped',
        'rejected',
        'failed',
        'duplicate',
      ]),
    )
    .addOption(
      new Option('--run-status <status>', 'only those that led to a run with this status').choices(runStatuses),
    )
    .option(
      '--since <time>',
      'only what came since then: a duration such as 2h, or a time such as 2026-11-20T08:00Z',
      parseMoment,
    )
    .option('--until <time>', 'only what came before then', parseMoment)
    .option('--text <text>', 'only those whose body holds this text')

function parseMoment(text: string): string {
  const ms = parseDuration(text)
  if (ms !== undefined) return new Date(Date.now() - ms).toISOString()
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new InvalidArgumentError('It must be a duration such as 90m, 2h or 3d, or a time such as 2026-11-20T08:00Z.')
  return new Date(at).toISOString()
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.')
  return Number(text)
}

/** Newest first. A page is asked for when somebody wants to know what is on it. */
export async function* listRequests(
  control: Control,
  { hook, status, runStatus, since, until, text }: Filter,
): AsyncGenerator<RequestLine> {
  const query = new URLSearchParams({
    limit: '200',
    ...(hook && { hook }),
    ...(status && { status }),
    ...(runStatus && { runStatus }),
    ...(since && { since }),
    ...(text && { q: text }),
  })
  for (;;) {
    const { items, next } = (await control.get(`/api/requests?${query.toString()}`)) as {
      items: RequestLine[]
      next?: string
    }
    yield* items.filter(({ at }) => until === undefined || at < until)
    if (next === undefined) return
    query.set('cursor', next)
  }
}

/** What became of it, in a few words. */
export function describeLine({ runIds = [], eventIds = [], error, reason, status, replayOf }: RequestLine): string {
  const counts = [countOf(runIds.length, 'run'), countOf(eventIds.length, 'event')].filter(Boolean).join(', ')
  const outcome = error
    ? `${error.type}: ${error.message}`
    : counts || (status === 'skipped' ? (reason ?? 'nothing to do') : '')
  return escapeInLine([outcome, replayOf && `replay of ${replayOf}`].filter(Boolean).join('; '))
}

const countOf = (count: number, noun: string): string =>
  count === 0 ? '' : `${count} ${noun}${count === 1 ? '' : 's'}`

export const lineHead = ({ id, at, hook, status }: RequestLine): string =>
  `${id}  ${at}  ${status.padEnd(9)}  ${escapeInLine(hook)}`
