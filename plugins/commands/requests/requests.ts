// Lists webhook requests, or shows one: what arrived, and what the agent reads of it.
import { type CommandContext, CommandError } from 'svc-gateway/plugin'
import { block, describeLine, type Filter, isFiltered, lineHead, listRequests, type RequestLine, row } from './list.ts'

interface RequestsInput extends Filter {
  requestId?: string
  limit: number
  json?: boolean
}

export async function printRequests(
  { requestId, limit, json, ...filter }: RequestsInput,
  { control, terminal }: CommandContext<'control'>,
): Promise<void> {
  if (requestId !== undefined) {
    if (isFiltered(filter)) throw new CommandError('Give either a request id or a filter, not both.')
    const request = await control.get<RequestDetails>(`/api/requests/${encodeURIComponent(requestId)}`)
    if (json) terminal.printJson(request)
    else terminal.print(describeRequest(request))
    return
  }
  let count = 0
  for await (const line of listRequests(control, filter)) {
    if (count === limit)
      return terminal.notify(
        `There are more than ${limit} requests; use --limit to see more, or --since and --hook to select.`,
      )
    if (json) terminal.printJson(line)
    else terminal.printRow([...lineHead(line), describeLine(line)])
    count++
  }
  if (count === 0) terminal.notify('No request matches.')
}

/** The answer of `GET /api/requests/<id>`, as far as it is shown. */
interface RequestDetails extends RequestLine {
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

function describeRequest(request: RequestDetails): string {
  const { id, at, hook, status, client, authentication, body, actions, runs } = request
  const statusOf = new Map(runs.map((run) => [run.id, run.status]))
  return [
    row('request', id),
    row('at', at),
    row('hook', hook),
    row('status', [status, describeLine(request)].filter(Boolean).join(': ')),
    row('client', client),
    ...(authentication ? [row('auth', describeAuthentication(authentication))] : []),
    ...stored('body', body ?? undefined),
    ...actions.flatMap((action, index) =>
      ['', `${index + 1}. ${action.action}`].concat(describeAction(action, statusOf)),
    ),
  ].join('\n')
}

function describeAction(
  { agentId, sessionKey, runId, eventId, message }: RequestDetails['actions'][number],
  statusOf: ReadonlyMap<string, string>,
): string[] {
  return [
    ...(agentId === undefined ? [] : [row('agent', agentId)]),
    ...(sessionKey === undefined ? [] : [row('session', sessionKey)]),
    runId === undefined ? row('event', eventId ?? '') : row('run', [runId, statusOf.get(runId)].join(' ')),
    ...stored('message', message),
  ]
}

const describeAuthentication = ({ scheme, secret }: NonNullable<RequestDetails['authentication']>): string =>
  secret === undefined ? scheme : `${scheme}, secret ${secret}`

const stored = (name: string, text: string | undefined): string[] =>
  text === undefined ? [row(name, 'is not stored')] : [row(name, ''), ...block(text)]
