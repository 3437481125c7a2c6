// One webhook request in words for people: what arrived, and what the agent reads of it.
import { escapeForTerminal, escapeInLine } from '../../kit/escape-for-terminal.ts'
import { describeLine, type RequestLine } from './request-list.ts'

/** The answer of `GET /api/requests/<id>`, as far as it is shown. */
export interface RequestDetails extends RequestLine {
  client: string
  authentication?: { scheme: string; secret?: number }
  body: string | null
  actions: readonly {
    action: string
    agentId?: string
    sessionKey?: string
    runId?: string
    eventId?: string
    message?: string
  }[]
  runs: readonly { id: string; status: string }[]
}

type Action = RequestDetails['actions'][number]

export function describeRequest(request: RequestDetails): string {
  const { id, at, hook, status, client, authentication, body, actions, runs } = request
  const statusOf = new Map(runs.map((run) => [run.id, run.status]))
  const lines = [
    row('request', id),
    row('at', at),
    row('hook', hook),
    row('status', [status, describeLine(request)].filter(Boolean).join(': ')),
    row('client', client),
    ...(authentication ? [row('auth', authenticationText(authentication))] : []),
    ...block('body', body ?? undefined),
    ...actions.flatMap((action, index) => ['', `${index + 1}. ${action.action}`].concat(actionRows(action, statusOf))),
  ]
  return `${lines.join('\n')}\n`
}

function actionRows(
  { agentId, sessionKey, runId, eventId, message }: Action,
  statusOf: ReadonlyMap<string, string>,
): string[] {
  return [
    ...(agentId === undefined ? [] : [row('agent', agentId)]),
    ...(sessionKey === undefined ? [] : [row('session', sessionKey)]),
    runId === undefined ? row('event', eventId ?? '') : row('run', [runId, statusOf.get(runId)].join(' ')),
    ...block('message', message),
  ]
}

const authenticationText = ({ scheme, secret }: NonNullable<RequestDetails['authentication']>): string =>
  secret === undefined ? scheme : `${scheme}, secret ${secret}`

const row = (name: string, text: string): string => `  ${name.padEnd(9)} ${escapeInLine(text)}`.trimEnd()

const block = (name: string, text: string | undefined): string[] =>
  text === undefined
    ? [row(name, 'is not stored')]
    : [row(name, ''), ...text.split('\n').map((line) => `    | ${escapeForTerminal(line)}`)]
