// The store's interface. Each operation is one atomic transaction and resolves when its changes are on disk.
import type { Json, ToolEffect } from '../plugin.ts'
import type { AcceptCommand, AcceptResult } from './records/accept.ts'
import type { EventLimit, StoredEvent, WaitingWake } from './records/events.ts'
import type { DeliveryFilter, LiveCounts, Page, PageRequest, RequestFilter, RunFilter } from './records/lists.ts'
import type { AccountRef, DeliveryEnd, LateFailureRecord, StoredDelivery } from './records/outbox.ts'
import type { PurgeBodiesStep, PurgedBodies, PurgeResult, PurgeStep, Space } from './records/purge.ts'
import type { NewRefusal, RequestSummary, StoredRequest } from './records/requests.ts'
import type { ListedRun, RunEnd, RunRef, RunRetry, StoredRun, StoredTranscriptEntry } from './records/runs.ts'
import type { NewSchedule, StoredSchedule } from './records/schedules.ts'
import type {
  EffectUse,
  Exposure,
  LeaseGrant,
  SessionCounts,
  SessionPage,
  SessionPosition,
  StoredRoute,
  StoredSession,
} from './records/sessions.ts'
import type { Timestamp } from './records/timestamp.ts'
import type { Replicas } from './replicas.ts'

export type * from './records/accept.ts'
export type * from './records/events.ts'
export type * from './records/lists.ts'
export type * from './records/outbox.ts'
export type * from './records/purge.ts'
export type * from './records/requests.ts'
export type * from './records/runs.ts'
export type * from './records/schedules.ts'
export type * from './records/sessions.ts'
export type * from './records/timestamp.ts'
export type { RunStatus } from './run-spec.ts'

/** A store that is being opened. Calls wait until it is open. */
export interface OpeningStore {
  store: Store
  /** Rejects when the store cannot be opened. It must then be closed. */
  opened: Promise<void>
  /** True: other gateways may use the store at the same time. */
  isShared: boolean
  /** The other gateways on the same store. */
  replicas: Replicas
}

export interface Store {
  /**
   * Stores the request, its idempotency key, events, runs and deliveries, or nothing at all. Rejects with
   * `store_unavailable` when too many calls are waiting, and after five seconds without an answer.
   */
  accept(command: AcceptCommand): Promise<AcceptResult>
  /** Logs a request that started nothing. */
  recordRefusal(refusal: NewRefusal, at: Timestamp): Promise<void>
  listRequests(filter: RequestFilter, page: PageRequest): Promise<Page<RequestSummary>>
  getRequest(id: string): Promise<StoredRequest | undefined>

  /**
   * Claims queued runs: of each session only the oldest live run, so that a session runs one at a time and in order;
   * of each concurrency limit only the oldest few. Claiming marks a run as running, counts the attempt and increments
   * the fencing token.
   */
  claimRuns(claim: {
    owner: string
    max: number
    /** Claims no more runs than this number leaves, with the running ones of all owners counted. */
    maxRunning?: number | undefined
    at: Timestamp
    leaseMs: number
  }): Promise<StoredRun[]>
  /** @returns false when the caller no longer holds the run and must stop it */
  renewRun(run: RunRef, until: Timestamp): Promise<boolean>
  /**
   * Ends a run. A repeated call with the same end returns true, too.
   * @returns false when the fencing token is stale and nothing was changed
   */
  endRun(run: RunRef, end: RunEnd): Promise<boolean>
  /**
   * Returns a running run to its position in the queue without counting the attempt: after a clean stop, or to run
   * again at the time of `retry`.
   */
  releaseRun(run: RunRef, retry?: RunRetry): Promise<boolean>
  /**
   * Releases all runs of an owner except those that it holds. Needed when a claim was committed but its answer was
   * lost.
   * @returns how many
   */
  releaseUnheldRuns(owner: string, held: readonly string[]): Promise<number>
  /**
   * Requeues runs whose lease has expired (`queued`), or returns them as `exhausted` when no attempt is left. The
   * caller has 30 seconds to end the exhausted runs.
   */
  recoverExpiredRuns(at: Timestamp): Promise<{ queued: number; exhausted: StoredRun[] }>
  /**
   * Brings forward the oldest runs that wait to be retried because of this provider, one for each time, but no run to
   * before its `earliestAt`. Returns their ids.
   */
  advanceRetries(provider: string, times: readonly Timestamp[]): Promise<string[]>
  /** The time of the first retry after a time. */
  getNextRetryAt(after: Timestamp): Promise<Timestamp | undefined>
  /** Cancels a run that has not started. @returns false when it has started or does not exist */
  cancelQueuedRun(id: string, end: RunEnd): Promise<boolean>
  /**
   * Queues a copy of a run that failed or timed out, as a run of its own.
   * @returns false when the run did not fail or was retried before
   */
  retryRun(id: string, retry: { id: string; at: Timestamp }): Promise<boolean>
  getRun(id: string): Promise<StoredRun | undefined>
  listRuns(filter: RunFilter, page: PageRequest): Promise<Page<ListedRun>>
  countQueuedRuns(): Promise<number>

  /** Assigns the session's oldest waiting events to a run. A repeated call returns the same events. */
  claimEvents(run: RunRef, sessionKey: string, limit: EventLimit): Promise<StoredEvent[]>
  /** The events of a request whose texts its mapping rendered, in order, until they are purged. */
  listRenderedEvents(requestId: string): Promise<StoredEvent[]>
  /** The session's oldest events that no run has claimed. */
  listWaitingEvents(sessionKey: string, limit: EventLimit): Promise<StoredEvent[]>
  countWaitingEvents(sessionKey: string): Promise<number>
  /** Sessions with a waiting event of mode `now`: wakes that were requested before a crash. */
  listSessionsWithWakes(): Promise<string[]>
  /** Sessions with events that wait for the agent that they name. */
  listWaitingWakes(): Promise<WaitingWake[]>

  /** The transcript of a session, newest entry first. */
  listTranscript(sessionKey: string, page: PageRequest): Promise<Page<StoredTranscriptEntry>>
  getSession(key: string): Promise<StoredSession | undefined>
  /** The most recently used session first. `defaultAgentId` is the agent of sessions whose key names none. */
  listSessions(filter: {
    agentId?: string | undefined
    defaultAgentId: string
    after?: SessionPosition | undefined
    limit: number
  }): Promise<SessionPage>
  getSessionCounts(key: string): Promise<SessionCounts>
  /** The newest route of a session, or its newest route on one channel. */
  getLastRoute(sessionKey: string, channel?: string): Promise<StoredRoute | undefined>

  /**
   * Claims deliveries that are due, of each lane (channel, account, recipient) only the oldest, and marks them as
   * sending.
   */
  claimDeliveries(claim: {
    owner: string
    max: number
    /** Accounts whose deliveries are left to others. */
    except?: readonly AccountRef[] | undefined
    at: Timestamp
    leaseMs: number
  }): Promise<StoredDelivery[]>
  /** Records that the platform has confirmed one more chunk. @returns false when the fencing token is stale */
  advanceDelivery(id: string, fencingToken: number, chunksSent: number): Promise<boolean>
  /** Ends an attempt, and stores the event of `end`. @returns false when the fencing token is stale */
  endDelivery(id: string, fencingToken: number, end: DeliveryEnd, at: Timestamp): Promise<boolean>
  /**
   * Fails a delivery although the platform has accepted its chunk: an attempt that is under way is void, and
   * `retryDelivery` begins with this chunk. The event is stored with it.
   * @returns false when there is no such delivery, or when it has failed, was skipped, or was not attempted
   */
  failDelivery(id: string, failure: LateFailureRecord, at: Timestamp): Promise<boolean>
  /**
   * Returns deliveries whose lease expired while they were being sent, or which other owners were sending on an account
   * that `takenOver` says is now the caller's. The caller has 30 seconds to end each of them (`endDelivery` with the
   * returned fencing token).
   */
  recoverExpiredDeliveries(at: Timestamp, takenOver?: AccountRef & { owner: string }): Promise<StoredDelivery[]>
  listRunDeliveries(runId: string): Promise<StoredDelivery[]>
  listDeliveries(filter: DeliveryFilter, page: PageRequest): Promise<Page<StoredDelivery>>
  getDelivery(id: string): Promise<StoredDelivery | undefined>
  /**
   * Returns a delivery that failed, or whose result is unknown, to its position in the lane. Chunks that the platform
   * has confirmed are not sent again.
   * @returns false when the delivery has another status
   */
  retryDelivery(id: string, at: Timestamp): Promise<boolean>
  /** The time when the next pending delivery is due, except those of some accounts; 0: at once. */
  getNextDeliveryAt(except?: readonly AccountRef[]): Promise<Timestamp | undefined>

  /** Undefined when the session or run holds no external content. */
  getExposure(scope: string): Promise<Exposure | undefined>
  /**
   * Records the effects of a tool in all scopes, unless one of them has had the other effect before. In either case
   * the scopes are marked as holding external content.
   * @returns that other effect; then no effect was recorded
   */
  useEffects(use: EffectUse): Promise<ToolEffect | undefined>

  getLiveCounts(): Promise<LiveCounts>

  /** @returns false when the agent already has `most` schedules */
  addSchedule(schedule: NewSchedule, limit: { at: Timestamp; most: number }): Promise<boolean>
  /** All schedules of an agent, oldest first. */
  listAgentSchedules(agentId: string): Promise<StoredSchedule[]>
  /** A page of schedules, newest first. */
  listSchedules(filter: { agentId?: string | undefined }, page: PageRequest): Promise<Page<StoredSchedule>>
  /** @returns false when the agent has no such schedule */
  removeSchedule(id: string, agentId: string): Promise<boolean>
  /** Changes the next time of a schedule. @returns false when it has fired since or does not exist */
  moveSchedule(id: string, times: { from: Timestamp; to: Timestamp }): Promise<boolean>
  /** Schedules that are due, the oldest time first. The caller fires each of them with `accept`. */
  listDueSchedules(at: Timestamp, limit: number): Promise<StoredSchedule[]>
  /** The time when the next schedule fires. */
  getNextScheduleAt(): Promise<Timestamp | undefined>

  /** Whether a request or message with this key was accepted before. */
  hasKey(id: { scope: string; key: string }, at: Timestamp): Promise<boolean>

  getState(owner: string, key: string): Promise<Json | undefined>
  setState(owner: string, key: string, value: Json): Promise<void>
  deleteState(owner: string, key: string): Promise<void>

  /** Acquires or renews a lease that only one owner may hold. Undefined while another owner holds it. */
  acquireLease(name: string, owner: string, at: Timestamp, until: Timestamp): Promise<LeaseGrant | undefined>
  releaseLease(name: string, owner: string): Promise<void>

  /**
   * Expires every lease, so that nothing waits for a timeout. Only safe when all owners are known to be dead, such as
   * the previous process of an embedded store.
   */
  expireLeases(): Promise<void>
  /** Deletes expired idempotency keys. @returns how many */
  purgeExpiredKeys(at: Timestamp): Promise<number>
  /**
   * Deletes a few of the oldest records of each kind, all kinds up to the same time. Kept are live records, requests
   * whose body holds the text of a waiting event, runs with deliveries that are not sent yet, and sessions that a
   * caller has named.
   */
  purge(step: PurgeStep): Promise<PurgeResult>
  /**
   * Deletes the bodies of a few of the oldest requests. The requests stay, and so do bodies that hold the text of a
   * waiting event.
   */
  purgeBodies(step: PurgeBodiesStep): Promise<PurgedBodies>
  getSpace(): Promise<Space>
  /** Returns up to this many free bytes to the disk, rounded up to whole units of the engine. */
  reclaimSpace(bytes: number): Promise<void>
  /** Resolves when a write would be committed. Rejects with `store_unavailable` if not. */
  probe(): Promise<void>
  close(): Promise<void>
}
