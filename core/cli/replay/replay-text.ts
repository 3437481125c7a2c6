// What a replay came to, or would come to, in words for people.
import type { Authentication, ReplayReply } from '../../control/replay-reply.ts'
import type { MappedReply } from '../../hooks/schemas.ts'
import type { ActionPreview, TurnPreview } from '../../runs/turn-preview.ts'
import { escapeForTerminal, escapeInLine } from '../../kit/escape-for-terminal.ts'
import { skipText } from '../requests/request-list.ts'

/** The reply of `POST /api/requests/<id>/replay`: the reply of the hook, or that of a dry run. */
export type ReplayAnswer = ReplayReply & Partial<Omit<MappedReply, 'ok'>>

/** One line. */
export function describeReplay({
  requestId,
  runId,
  runIds = [],
  eventId,
  eventIds = [],
  warnings = [],
}: ReplayAnswer): string {
  const runs = [...(runId === undefined ? [] : [runId]), ...runIds].map((id) => `run ${id}`)
  const events = [...(eventId === undefined ? [] : [eventId]), ...eventIds].map((id) => `event ${id}`)
  const led = [...runs, ...events].join(', ') || 'there was nothing to do'
  return escapeInLine([`replayed as ${requestId}: ${led}`, ...warnings].join('; '))
}

/** One line. */
export function describePlan({ actions = [] }: ReplayAnswer): string {
  if (actions.length === 0) return 'would be skipped'
  const texts = actions.map(({ action, agentId, sessionKey }) =>
    [action, agentId, sessionKey].filter(Boolean).join(' '),
  )
  return `would become ${texts.map(escapeInLine).join(', ')}`
}

export function describeDryRun(answer: ReplayAnswer): string {
  const { mapping, matchedBy, auth, actions = [], skippedBy, heartbeat } = answer
  const lines = [
    row(
      'hook',
      mapping === undefined
        ? "the gateway's own endpoint"
        : `mapping ${mapping}, ${matches[matchedBy ?? ''] ?? matchedBy}`,
    ),
    row('auth', `${auth?.scheme} is asked for${auth?.given ? `; it came with ${authenticationText(auth.given)}` : ''}`),
    ...(actions.length === 0
      ? [row('actions', `none: it would be skipped${skippedBy ? ` by ${skipText(skippedBy)}` : ''}`)]
      : []),
    ...actions.flatMap(actionRows),
    ...(heartbeat ? ['', 'The next heartbeat', ...turnRows(heartbeat)] : []),
    '',
    'Nothing was started.',
  ]
  return `${lines.join('\n')}\n`
}

const matches: Readonly<Record<string, string>> = {
  path: 'by its path',
  source: 'by the source of the payload',
  'path-and-source': 'by its path and the source of the payload',
  conditions: 'by its headers or its payload',
  any: 'which takes every name',
  request: 'as asked for',
}

const authenticationText = ({ scheme, secret }: Authentication): string =>
  secret === undefined ? scheme : `${scheme}, secret ${secret}`

const row = (name: string, text: string): string => `  ${name.padEnd(9)} ${escapeInLine(text)}`

function actionRows({ action, agentId, sessionKey = '', text, mode, ...turn }: ActionPreview, index: number): string[] {
  return [
    '',
    `${index + 1}. ${action}`,
    ...(agentId === undefined ? [] : [row('agent', agentId)]),
    row('session', sessionKey),
    ...(text === undefined ? [] : [row('text', text), row('mode', mode ?? '')]),
    ...(turn.prompt === undefined ? [] : turnRows(turn as TurnPreview)),
  ]
}

function turnRows({ model, thinking, timeoutSeconds, tools, withheld = [], delivery, prompt }: TurnPreview): string[] {
  return [
    row(
      'model',
      [model, thinking && `thinking ${thinking}`, `at most ${timeoutSeconds} seconds`].filter(Boolean).join(', '),
    ),
    row('reply', delivery ? deliveryText(delivery) : 'is not delivered'),
    row('tools', tools.join(', ') || 'none'),
    ...(withheld.length > 0 ? [row('withheld', withheld.join(', '))] : []),
    row('prompt', '(the ids of the markers are other ones each time)'),
    ...prompt.split('\n').map((line) => `    | ${escapeForTerminal(line)}`),
  ]
}

function deliveryText({ channel, accountId, to, threadId, reason }: NonNullable<TurnPreview['delivery']>): string {
  if (reason !== undefined) return `cannot be delivered: ${reason}`
  return [
    `to ${to} on ${channel}`,
    accountId && accountId !== 'default' && `account ${accountId}`,
    threadId && `thread ${threadId}`,
  ]
    .filter(Boolean)
    .join(', ')
}
