// Publishes change events: every committed change of a request, event, run or delivery.
import type { AcceptCommand } from '../accept.ts'
import { type CommitHandlers, type Commits, type Feed, handleCommit } from './commits.ts'
import { createChanges, type DeliveryChange, readRunChange, type RunChange, type StoreChanges } from './changes.ts'
import { noReplicas, type Replicas } from '../replicas.ts'
import type { AskedApprovals, NewDelivery, NewEvent, NewRun, RunEnd, Store, Timestamp } from '../store.ts'
import { describeAccepted, describeRefused } from '../tables/request.ts'

type ReadStore = Pick<
  Store,
  'getRequest' | 'getRun' | 'listRunDeliveries' | 'getDelivery' | 'getApproval' | 'readRunApprovals'
>

interface ChangeEventsDeps {
  commits: Pick<Commits, 'subscribe'>
  store: ReadStore
  replicas?: Replicas
}

/** Publishes changes in the order of their commits. Nothing is read again while nobody subscribes. */
export function createChangeEvents({ commits, store, replicas = noReplicas }: ChangeEventsDeps): StoreChanges {
  const changes = createChanges({ store, replicas })
  const handlers = createHandlers(store, changes)
  const feeds: Feed<never>[] = Object.values(changes)
  let last: Promise<unknown> = Promise.resolve()
  commits.subscribe((call) => {
    if (!feeds.some((feed) => feed.hasSubscribers())) return
    // Some changes are read again, and later ones wait for that. If a record cannot be read, only its change is lost.
    last = last.then(() => handleCommit(handlers, call)).catch(() => undefined)
  })
  return changes
}

/**
 * Most calls know little more than an id, so the record is read when its change is published. Another change may have
 * been committed by then; its own event follows.
 */
function createHandlers(store: ReadStore, changes: StoreChanges): CommitHandlers<unknown> {
  const { requests, events, runs, outbox, approvals } = changes

  async function publishRun(id: string): Promise<void> {
    const change = runs.hasSubscribers() ? await readRunChange(store, id) : undefined
    if (change) runs.publish(change)
  }

  async function publishDelivery(id: string): Promise<void> {
    const delivery = outbox.hasSubscribers() ? await store.getDelivery(id) : undefined
    if (delivery) outbox.publish(delivery)
  }

  async function publishApproval(id: string): Promise<void> {
    const approval = approvals.hasSubscribers() ? await store.getApproval(id) : undefined
    if (approval) approvals.publish(approval)
  }

  async function publishAsked({ at, approvals: asked, deliveries }: AskedApprovals): Promise<void> {
    for (const { id } of asked) await publishApproval(id)
    publishAdded(at, { deliveries })
  }

  /** Those that ended with their run. */
  async function publishCancelled(runId: string, at: Timestamp): Promise<void> {
    if (!approvals.hasSubscribers()) return
    for (const approval of await store.readRunApprovals(runId))
      if (approval.status === 'cancelled' && approval.answeredAt === at) approvals.publish(approval)
  }

  function publishAdded(
    at: Timestamp,
    added: { events?: readonly NewEvent[]; deliveries?: readonly NewDelivery[] },
  ): void {
    for (const event of added.events ?? []) events.publish({ ...event, at })
    for (const delivery of added.deliveries ?? []) outbox.publish(asPendingDelivery(delivery, at))
  }

  function publishAccepted(command: AcceptCommand): void {
    const { at, request, events: newEvents = [], runs: newRuns = [], deliveries = [] } = command
    if (request) {
      const { id, hook, client } = request
      requests.publish({ id, at, hook, client, status: 'accepted', result: describeAccepted(request, command) })
    }
    publishAdded(at, { events: newEvents })
    for (const run of newRuns) runs.publish({ run: asQueuedRun(run, at, request?.id), deliveries: [] })
    publishAdded(at, { deliveries })
  }

  async function publishEnd(id: string, end: RunEnd): Promise<void> {
    await publishRun(id)
    publishAdded(end.at, end)
    await publishCancelled(id, end.at)
    for (const { delivery } of end.notices ?? []) if (delivery) await publishDelivery(delivery.id)
    if (end.alert) await publishDelivery(end.alert.delivery.id)
  }

  return {
    accept: ({ args: [command], result: { outcome } }) => outcome === 'accepted' && publishAccepted(command),
    recordRefusal: ({ args: [refusal, at] }) => {
      const { id, hook, client, status } = refusal
      requests.publish({ id, at, hook, client, status, result: describeRefused(refusal) })
    },
    claimRuns: ({ result: claimed }) => {
      for (const run of claimed) runs.publish({ run, deliveries: [] })
    },
    endRun: ({ args: [{ id }, end], result: isEnded }) => isEnded && publishEnd(id, end),
    endQueuedRun: ({ args: [id, end], result: isCancelled }) => isCancelled && publishEnd(id, end),
    advanceRetries: ({ result: ids }) => Promise.all(ids.map(publishRun)),
    releaseRun: ({ args: [{ id }], result: isReleased }) => isReleased && publishRun(id),
    suspendRun: ({ args: [{ id }], result: status }) => status && publishRun(id),
    recordSteps: ({ args: [, { asked }], result: isStored }) => isStored && asked && publishAsked(asked),
    createApproval: ({ args: [asked] }) => publishAsked(asked),
    answerApproval: async ({ args: [id, { at, deliveries }], result: isAnswered }) => {
      if (!isAnswered) return
      await publishApproval(id)
      const approval = await store.getApproval(id)
      if (approval?.runId) await publishRun(approval.runId)
      publishAdded(at, { deliveries })
    },
    retryRun: ({ args: [id, retry], result: isRetried }) =>
      isRetried && Promise.all([publishRun(retry.id), publishRun(id)]),
    endDelivery: async ({ args: [id, , end, at], result: isEnded }) => {
      if (!isEnded) return
      await publishDelivery(id)
      if ('event' in end && end.event) publishAdded(at, { events: [end.event] })
    },
    failDelivery: async ({ args: [id, { event }, at], result: isFailed }) => {
      if (!isFailed) return
      await publishDelivery(id)
      publishAdded(at, { events: [event] })
    },
    retryDelivery: ({ args: [id], result: isRetried }) => isRetried && publishDelivery(id),
  }
}

const asQueuedRun = (run: NewRun, at: Timestamp, requestId = run.spec.requestId): RunChange['run'] => ({
  ...run,
  spec: { ...run.spec, requestId },
  attempt: 0,
  lastProgress: 0,
  steps: 0,
  attempts: [],
  deadline: null,
  fencingToken: 0,
  status: 'queued',
  result: {},
  createdAt: at,
  startedAt: null,
  endedAt: null,
})

const asPendingDelivery = (delivery: NewDelivery, at: Timestamp): DeliveryChange => ({
  ...delivery,
  file: delivery.file ?? null,
  choices: delivery.choices ?? null,
  endsChoicesOf: delivery.endsChoicesOf ?? null,
  wanted: delivery.wanted ?? null,
  attempt: 0,
  fencingToken: 0,
  chunksSent: 0,
  uncertain: false,
  attemptedAt: null,
  platformId: null,
  nextAt: at,
  createdAt: at,
})
