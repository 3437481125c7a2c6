// Samples of all store operations: for each, arguments that make it execute all of its statements.
import { toAcceptRows } from '../../core/store/accept.ts'
import { type OperationArgs, type OperationName, perform } from '../../core/store/operations.ts'
import type { AcceptCommand, PageRequest } from '../../core/store/store.ts'
import type { Transaction } from '../../core/store/transaction.ts'
import {
  cancelledEnd,
  newApproval,
  newAudit,
  newRequest,
  newEvent,
  newKey,
  newDelivery,
  newRun,
  newSchedule,
  newStep,
  runEnd,
  start,
} from '../contracts/store-samples.ts'

export const held = { id: 'held', fencingToken: start }
export const claim = { owner: 'me', max: 4, at: start, leaseMs: 1000 }
const route = {
  channel: 'pager',
  accountId: 'default',
  to: '1',
  threadId: null,
  route: null,
  sessionKey: 's',
  agentId: 'main',
}

const runLimit = { scope: 'all', from: start, to: start + 1, runs: 1, added: 1 }

type Samples = { [Name in OperationName]: OperationArgs<Name>[] }

/** For each operation, arguments that make it execute all of its statements. */
export const createSamples = (page: PageRequest): Samples => ({
  accept: (
    [
      { at: start, deliveries: [newDelivery()], firing: { scheduleId: 'daily', due: start, nextAt: start + 1 } },
      { at: start, firing: { scheduleId: 'daily', due: start, nextAt: null } },
      {
        at: start,
        request: newRequest(),
        idempotency: newKey({ key: 'other' }),
        events: [newEvent()],
        runs: [newRun()],
        route,
      },
      { at: start, idempotency: newKey() },
      { at: start, idempotency: newKey(), limits: [{ ...runLimit, runs: 0 }] },
    ] satisfies AcceptCommand[]
  ).map((command) => [command]),
  recordAudit: [[{ ...newAudit(), at: start, outcome: 'refused', reason: 'forbidden' }]],
  listAudit: [
    [{}, page],
    [{ actor: 'gateway', agents: ['main'], since: start }, page],
  ],
  purgeAudit: [[{ before: start + 1 }]],
  acceptRows: [toAcceptRows({ at: start, events: [newEvent()] })],
  recordRefusal: [[{ ...newRequest(), status: 'rejected' }, start]],
  listRequests: [
    [{}, page],
    [{ hook: 'wake', text: 'disk' }, page],
    [{ status: 'rejected' }, page],
    [{ runStatus: 'failed' }, page],
  ],
  getRequest: [['a request']],
  claimRuns: [[claim]],
  renewRun: [[held, start]],
  cancelRunningRun: [['held', { at: start }]],
  endRun: [
    [held, runEnd({ transcript: [{ message: 'a' }], events: [newEvent()], deliveries: [newDelivery()] })],
    [held, runEnd({ eventsRendered: false })],
    [held, runEnd({ status: 'failed' })],
  ],
  releaseRun: [
    [held, start],
    [held, start, { notBefore: start, provider: 'claude', aside: false, result: {} }],
    [held, start, { notBefore: start, provider: null, aside: false, result: {} }],
  ],
  suspendRun: [[held, start]],
  createApproval: [[{ at: start, approvals: [newApproval()], deliveries: [newDelivery()] }]],
  answerApproval: (['approved', 'expired', 'cancelled'] as const).map((status) => [
    'asked',
    { status, at: start, by: null, reason: null, deliveries: [newDelivery()] },
  ]),
  getApproval: [['asked']],
  findApproval: [['hash']],
  listApprovals: [
    [{}, page],
    [{ status: 'waiting' }, page],
    [{ runId: 'held' }, page],
  ],
  readRunApprovals: [['held']],
  extendApproval: [['approval', start + 1]],
  listDueApprovals: [[start]],
  getNextApprovalExpiry: [[]],
  advanceRetries: [['claude', [start]]],
  releaseUnheldRuns: [['me', ['held']]],
  recoverExpiredRuns: [[start]],
  retryRun: [['failed', { id: 'again', at: start }, newAudit()]],
  endQueuedRun: [['waiting', { ...cancelledEnd(), events: [newEvent()] }]],
  getRun: [['held']],
  listRoutes: [['s']],
  listRuns: [
    [{}, page],
    [{ sessionKey: 'agent:main:one' }, page],
    [{ status: 'queued' }, page],
    [{ status: 'running' }, page],
    [{ status: 'failed' }, page],
    [{ status: 'waiting' }, page],
  ],
  countQueuedRuns: [[]],
  countRunsStartedBy: [['agent:main:one']],
  countRunTree: [['one']],
  getNextRetryAt: [[start]],
  listOverdueRuns: [[start]],
  getExposure: [['agent:main:one']],
  recordProvenance: [['agent:main:one', { outside: ['the tool web_fetch'], authors: [], isPrivate: false }]],
  useEffects: [[{ scopes: ['agent:main:one', 'held'], effects: ['sends'] }]],
  claimEvents: [[held, 'agent:main:one', { count: 9, characters: 999 }]],
  listRenderedEvents: [['request']],
  listWaitingEvents: [['agent:main:one', { count: 9, characters: 999 }]],
  countWaitingEvents: [['agent:main:one']],
  listSessionsWithWakes: [[1]],
  moveEvents: [
    [{ sessionKey: 'agent:main:one', agentId: null }, 'agent:main:two'],
    [{ sessionKey: 'agent:main:one', agentId: 'gone' }, 'agent:main:two'],
  ],
  listWaitingWakes: [[1]],
  listTranscript: [['agent:main:one', page]],
  getSession: [['agent:main:one']],
  listSessions: [[{ limit: 9, defaultAgentId: 'main' }], [{ agentId: 'main', limit: 9, defaultAgentId: 'main' }]],
  deleteSession: [['agent:main:none', { at: start, audit: newAudit() }]],
  getSessionCounts: [['agent:main:one']],
  claimDeliveries: [[claim]],
  advanceDelivery: [['m', 1, { chunksSent: 1, platformId: 'p' }]],
  getSentMessage: [[{ channel: 'pager', accountId: 'default', recipients: ['ops', 'room'] }, 'p']],
  endDelivery: [
    ['m', 1, { status: 'sent', platformId: null }, start],
    ['m', 1, { status: 'retry', reason: 'busy', nextAt: start, uncertain: false }, start],
  ],
  failDelivery: [['m', { chunk: 0, reason: 'gone', event: newEvent() }, start]],
  recoverExpiredDeliveries: [[start], [start, { channel: 'pager', accountId: 'default', owner: 'me' }]],
  listRunDeliveries: [[['held']], [['held', 'ended']]],
  listDeliveries: [
    [{}, page],
    [{ status: 'failed' }, page],
  ],
  hasKey: [[newKey(), start]],
  getDelivery: [['m']],
  retryDelivery: [['m', start, newAudit()]],
  getNextDeliveryAt: [[]],
  getLiveCounts: [[]],
  addSchedule: [[newSchedule(), { at: start, most: 9 }]],
  listAgentSchedules: [['main']],
  listSchedules: [
    [{}, page],
    [{ agentId: 'main' }, page],
  ],
  removeSchedule: [['daily', 'main', { at: start, change: newAudit() }]],
  moveSchedule: [['daily', { from: start, to: start + 1 }]],
  listDueSchedules: [[start, 9]],
  getNextScheduleAt: [[]],
  getState: [['pager', 'cursor']],
  setState: [['pager', 'cursor', 1]],
  deleteState: [['pager', 'cursor']],
  acquireLease: [['beat', 'me', start, start]],
  releaseLease: [['beat', 'me']],
  expireLeases: [[]],
  purgeExpiredKeys: [[start]],
  purge: [[{ before: start + 1 }]],
  purgeBodies: [[{ before: start + 1 }]],
  recordSteps: [
    [held, { steps: [newStep()], count: 1 }],
    [held, { steps: [newStep({ endedAt: null, status: 'running' })], count: 1 }],
    [
      held,
      {
        steps: [newStep({ endedAt: null, status: 'waiting' })],
        count: 1,
        asked: { at: start, approvals: [newApproval()], deliveries: [newDelivery()] },
      },
    ],
  ],
  listSteps: [['held', { limit: 9 }]],
  listToolErrors: [['held']],
  readSteps: [['held']],
  listUsage: [[{ from: 0, until: start + 1, limit: 9 }]],
  listSessionUsage: [[{ from: 0, until: start + 1, limit: 9 }]],
  sumSubagentUsage: [['held']],
  purgeUsage: [[{ before: start + 1, sessionsBefore: start + 1 }]],
  sumBudgetUsage: [[[{ scope: 'all', from: start, to: start + 1 }]]],
  purgeBudgetUsage: [[{ before: start }]],
  alertBudget: [[{ name: 'budget[0] 80', window: start, delivery: newDelivery() }, start]],
  postponeRun: [[held, { budget: 'budget[0]', until: start }]],
  listWaitingRuns: [[{ after: 0, limit: 9, except: ['budget[0]'] }]],
  releaseWaitingRuns: [[[{ id: 'waiting', limits: [runLimit] }], start]],
  moveWaitingRuns: [[{ budget: 'budget[0]', until: start }]],
  purgeStepContents: [[{ before: start + 1 }]],
  getSpace: [[]],
  reclaimSpace: [[1]],
  setTimesBack: [[start], [start, 3_600_000]],
  probe: [[], [true]],
})

/** The rows that the samples name. */
export async function addSampleRows(tx: Transaction): Promise<void> {
  await accept(tx, {
    at: start,
    idempotency: newKey({ reply: '{"runId":"held"}' }),
    events: [newEvent()],
    runs: [newRun({ id: 'held' }), newRun({ id: 'waiting' }), newRun({ id: 'failed', sessionKey: 'failed' })],
  })
  await accept(tx, { at: start, runs: [newRun({ id: 'over', sessionKey: 'over', unnamedSession: true })] })
  await perform(tx, ['endQueuedRun', ['over', cancelledEnd()]])
  await perform(tx, ['claimRuns', [claim]])
  await perform(tx, ['endRun', [{ id: 'failed', fencingToken: start }, runEnd({ status: 'failed' })]])
}

export const accept = (tx: Transaction, command: AcceptCommand) => perform(tx, ['accept', [command]])

/** Operations of the engine itself. */
export const withoutSql: ReadonlySet<OperationName> = new Set(['getSpace', 'reclaimSpace'])
