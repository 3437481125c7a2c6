// What a replay came to, or would come to, in words for people.
import { formatUsd } from 'svc-gateway/kit'
import { block, describeSkip, row, type SkipRule } from './list.ts'

interface Authentication {
  scheme: string
  secret?: number
}

interface Amounts {
  runs?: number
  tokens?: number
  usd?: number
}

interface BudgetPreview {
  key: string
  per: string
  onLimit: string
  limits: Amounts
  left: Amounts
  endsAt: string
  isUsedUp: boolean
}

interface TurnPreview {
  model: string
  thinking?: string
  timeoutSeconds: number
  tools: readonly string[]
  withheld?: readonly string[]
  delivery?: { channel?: string; accountId?: string; to?: string; threadId?: string; reason?: string }
  budgets?: readonly BudgetPreview[]
  prompt: string
}

interface ActionPreview extends Partial<TurnPreview> {
  action: string
  agentId?: string
  sessionKey?: string
  text?: string
  mode?: string
}

/** The reply of `POST /api/requests/<id>/replay`: the reply of the hook, or that of a dry run. */
export interface ReplayAnswer {
  requestId?: string
  runId?: string
  runIds?: readonly string[]
  eventId?: string
  eventIds?: readonly string[]
  warnings?: readonly string[]
  mapping?: string
  matchedBy?: string
  auth?: { scheme: string; given?: Authentication }
  actions?: readonly ActionPreview[]
  skippedBy?: SkipRule
  heartbeat?: TurnPreview
}

/** One line. */
export function describeReplay(answer: ReplayAnswer): string {
  const { requestId, runId, runIds = [], eventId, eventIds = [], warnings = [] } = answer
  const runs = [...(runId === undefined ? [] : [runId]), ...runIds].map((id) => `run ${id}`)
  const events = [...(eventId === undefined ? [] : [eventId]), ...eventIds].map((id) => `event ${id}`)
  const led = [...runs, ...events].join(', ') || 'there was nothing to do'
  return [`replayed as ${requestId}: ${led}`, ...warnings].join('; ')
}

/** One line. */
export function describePlan({ actions = [] }: ReplayAnswer): string {
  if (actions.length === 0) return 'would be skipped'
  const texts = actions.map(({ action, agentId, sessionKey }) =>
    [action, agentId, sessionKey].filter(Boolean).join(' '),
  )
  return `would become ${texts.join(', ')}`
}

export function describeDryRun({ mapping, matchedBy = '', auth, actions = [], ...answer }: ReplayAnswer): string {
  const { skippedBy, heartbeat } = answer
  const match = mapping === undefined ? '' : `mapping ${mapping}, ${matches[matchedBy] ?? matchedBy}`
  const given = auth?.given && `; it came with ${describeAuthentication(auth.given)}`
  return [
    row('hook', match || "the gateway's own endpoint"),
    row('auth', `${auth?.scheme} is asked for${given ?? ''}`),
    ...(actions.length === 0
      ? [row('actions', `none: it would be skipped${skippedBy ? ` by ${describeSkip(skippedBy)}` : ''}`)]
      : []),
    ...actions.flatMap(describeAction),
    ...(heartbeat ? ['', 'The next heartbeat', ...describeTurn(heartbeat)] : []),
    '',
    'Nothing was started.',
  ].join('\n')
}

const matches: Readonly<Record<string, string>> = {
  path: 'by its path',
  source: 'by the source of the payload',
  'path-and-source': 'by its path and the source of the payload',
  conditions: 'by its headers or its payload',
  any: 'which takes every name',
  request: 'as asked for',
}

const describeAuthentication = ({ scheme, secret }: Authentication): string =>
  secret === undefined ? scheme : `${scheme}, secret ${secret}`

function describeAction(
  { action, agentId, sessionKey = '', text, mode = '', ...turn }: ActionPreview,
  index: number,
): string[] {
  return [
    '',
    `${index + 1}. ${action}`,
    ...(agentId === undefined ? [] : [row('agent', agentId)]),
    row('session', sessionKey),
    ...(text === undefined ? [] : [row('text', text), row('mode', mode)]),
    ...(turn.prompt === undefined ? [] : describeTurn(turn as TurnPreview)),
  ]
}

function describeTurn({
  model,
  thinking,
  timeoutSeconds,
  tools,
  withheld = [],
  delivery,
  budgets = [],
  prompt,
}: TurnPreview) {
  const limits = [thinking && `thinking ${thinking}`, `at most ${timeoutSeconds} seconds`]
  return [
    row('model', [model, ...limits].filter(Boolean).join(', ')),
    row('reply', delivery ? describeDelivery(delivery) : 'is not delivered'),
    row('tools', tools.join(', ') || 'none'),
    ...(withheld.length > 0 ? [row('withheld', withheld.join(', '))] : []),
    ...budgets.map((budget) => row('budget', describeBudget(budget))),
    row('prompt', '(the ids of the markers are other ones each time)'),
    ...block(prompt),
  ]
}

function describeBudget({ key, per, onLimit, limits, left, endsAt, isUsedUp }: BudgetPreview): string {
  const amounts = [
    limits.usd === undefined ? [] : `${formatUsd(left.usd ?? 0)} of ${formatUsd(limits.usd)}`,
    limits.tokens === undefined ? [] : `${left.tokens} of ${limits.tokens} tokens`,
    limits.runs === undefined ? [] : `${left.runs} of ${limits.runs} runs`,
  ].flat()
  const verdict = onLimit === 'wait' ? 'a webhook would wait' : 'it would be refused'
  return `${key}, per ${per}: ${amounts.join(', ')} left until ${endsAt}${isUsedUp ? `; ${verdict}` : ''}`
}

function describeDelivery({ channel, accountId, to, threadId, reason }: NonNullable<TurnPreview['delivery']>): string {
  if (reason !== undefined) return `cannot be delivered: ${reason}`
  const account = accountId !== undefined && accountId !== 'default' && `account ${accountId}`
  return [`to ${to} on ${channel}`, account, threadId && `thread ${threadId}`].filter(Boolean).join(', ')
}
