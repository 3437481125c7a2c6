// What the gateway keeps, as operations: each is one atomic transaction and resolves only when it is on disk.
import type { Json, ToolEffect } from '../plugin.ts'
import type { PurgeBodiesStep, PurgeResult, PurgedBodies, PurgeStep, Space } from './purge-records.ts'
import type {
  AcceptCommand,
  AcceptResult,
  RequestFilter,
  RequestSummary,
  EffectUse,
  Exposure,
  EventLimit,
  LeaseGrant,
  ListedRun,
  LiveCounts,
  DeliveryEnd,
  DeliveryFilter,
  NewRefusal,
  NewSchedule,
  Page,
  PageRequest,
  RunEnd,
  RunFilter,
  RunRef,
  RunRetry,
  SessionCounts,
  SessionPage,
  SessionPosition,
  StoredRequest,
  StoredEvent,
  StoredDelivery,
  StoredRoute,
  StoredRun,
  StoredSchedule,
  StoredSession,
  StoredTranscriptEntry,
  Timestamp,
  WaitingWake,
} from './records.ts'

export type * from './purge-records.ts'
export type * from './records.ts'

export interface Store {
  /**
   * All or nothing: the log line, the idempotency key, events, runs. Group-committed.
   * Rejects with `store_unavailable` when too much waits, and after five seconds without an answer.
   */
  accept(command: AcceptCommand): Promise<AcceptResult>
  /** Notes a request that led to nothing. */
  recordRefusal(refusal: NewRefusal, at: Timestamp): Promise<void>
  listRequests(filter: RequestFilter, page: PageRequest): Promise<Page<RequestSummary>>
  getRequest(id: string): Promise<StoredRequest | undefined>

  /**
   * Hands out waiting runs: of each session only the oldest live one, so that one runs at a time, in order of
   * acceptance; of each concurrency limit only the oldest few. Marks them running, counts the attempt, raises the
   * fencing token.
   */
  claimRuns(claim: { owner: string; max: number; at: Timestamp; leaseMs: number }): Promise<StoredRun[]>
  /** False: the run is no longer ours and must stop. */
  renewRun(run: RunRef, until: Timestamp): Promise<boolean>
  /** True as well when this very end is stored already. False: the fencing token is stale and nothing was changed. */
  endRun(run: RunRef, end: RunEnd): Promise<boolean>
  /**
   * Puts a running run back into its place in the queue without counting the attempt: a clean stop, or a `retry` at its
   * time.
   */
  releaseRun(run: RunRef, retry?: RunRetry): Promise<boolean>
  /**
   * The same for all runs of an owner but those that it knows of: a claim was committed, but its answer was lost.
   * Returns how many.
   */
  releaseUnheldRuns(owner: string, held: readonly string[]): Promise<number>
  /**
   * Runs whose lease ran out: back in the queue (`queued`), or returned as `exhausted` when no attempt is left; the
   * caller has 30 seconds to end those.
   */
  recoverExpiredRuns(at: Timestamp): Promise<{ queued: number; exhausted: StoredRun[] }>
  /** When the next run is tried again after this time. */
  getNextRetryAt(after: Timestamp): Promise<Timestamp | undefined>
  /** Ends a run that has not started, as cancelled; false when it has, or is unknown. */
  cancelQueuedRun(id: string, end: RunEnd): Promise<boolean>
  /**
   * Puts a run that failed or timed out into the queue once more, as a run of its own; false when it did not, or was
   * retried already.
   */
  retryRun(id: string, retry: { id: string; at: Timestamp }): Promise<boolean>
  getRun(id: string): Promise<StoredRun | undefined>
  listRuns(filter: RunFilter, page: PageRequest): Promise<Page<ListedRun>>
  countQueuedRuns(): Promise<number>

  /** Gives the session's oldest waiting events to this run; taken again they are the same ones. */
  claimEvents(run: RunRef, sessionKey: string, limit: EventLimit): Promise<StoredEvent[]>
  /** The oldest that no run has taken. */
  listWaitingEvents(sessionKey: string, limit: EventLimit): Promise<StoredEvent[]>
  countWaitingEvents(sessionKey: string): Promise<number>
  /** Sessions in which an event with mode `now` waits: wakes that were requested before a crash. */
  listSessionsWithWakes(): Promise<string[]>
  /** Where events wait for an agent that they name. */
  listWaitingWakes(): Promise<WaitingWake[]>

  /** What was said in a session, newest first. */
  listTranscript(sessionKey: string, page: PageRequest): Promise<Page<StoredTranscriptEntry>>
  getSession(key: string): Promise<StoredSession | undefined>
  /** The one that was used last comes first. `defaultAgentId`: whose the sessions are whose keys name no agent. */
  listSessions(filter: {
    agentId?: string | undefined
    defaultAgentId: string
    after?: SessionPosition | undefined
    limit: number
  }): Promise<SessionPage>
  getSessionCounts(key: string): Promise<SessionCounts>
  /** The newest route of a session, or its newest on one channel. */
  getLastRoute(sessionKey: string, channel?: string): Promise<StoredRoute | undefined>

  /**
   * Hands out deliveries that are due: of each lane (channel, account, recipient) only the oldest. Marks them sending.
   */
  claimDeliveries(claim: { owner: string; max: number; at: Timestamp; leaseMs: number }): Promise<StoredDelivery[]>
  /** One more chunk is with the platform for certain. False: the fencing token is stale. */
  advanceDelivery(id: string, fencingToken: number, chunksSent: number): Promise<boolean>
  endDelivery(id: string, fencingToken: number, end: DeliveryEnd, at: Timestamp): Promise<boolean>
  /**
   * Deliveries that were being sent when their sender died; the caller has 30 seconds to decide what becomes of each
   * (`endDelivery` with the returned fencing token).
   */
  recoverExpiredDeliveries(at: Timestamp): Promise<StoredDelivery[]>
  listRunDeliveries(runId: string): Promise<StoredDelivery[]>
  listDeliveries(filter: DeliveryFilter, page: PageRequest): Promise<Page<StoredDelivery>>
  getDelivery(id: string): Promise<StoredDelivery | undefined>
  /**
   * Puts a delivery that failed, or whose fate is unknown, back into its place; its chunks that have arrived are not
   * sent again. False: it is in another state.
   */
  retryDelivery(id: string, at: Timestamp): Promise<boolean>
  /** When the next pending message is due. */
  getNextDeliveryAt(): Promise<Timestamp | undefined>

  /** Absent: the session, or the run, holds no external content. */
  getExposure(scope: string): Promise<Exposure | undefined>
  /**
   * Marks what a tool is about to do in all scopes, unless one of them has had the other effect before.
   * @returns that other effect, with nothing changed but that the scopes are marked as holding external content
   */
  useEffects(use: EffectUse): Promise<ToolEffect | undefined>

  getLiveCounts(): Promise<LiveCounts>

  /** False: the agent has `most` schedules already. */
  addSchedule(schedule: NewSchedule, limit: { at: Timestamp; most: number }): Promise<boolean>
  /** In the order in which they were added. */
  listAgentSchedules(agentId: string): Promise<StoredSchedule[]>
  /** Newest first. */
  listSchedules(filter: { agentId?: string | undefined }, page: PageRequest): Promise<Page<StoredSchedule>>
  /** False: the agent has no such schedule. */
  removeSchedule(id: string, agentId: string): Promise<boolean>
  /** It fires at another time next. False: it has fired meanwhile, or is gone. */
  moveSchedule(id: string, times: { from: Timestamp; to: Timestamp }): Promise<boolean>
  /** Those whose time has come, the oldest first. Each is then fired with `accept`. */
  listDueSchedules(at: Timestamp, limit: number): Promise<StoredSchedule[]>
  /** When the next schedule fires. */
  getNextScheduleAt(): Promise<Timestamp | undefined>

  getState(owner: string, key: string): Promise<Json | undefined>
  setState(owner: string, key: string, value: Json): Promise<void>
  deleteState(owner: string, key: string): Promise<void>

  /** Takes or keeps a lease that only one owner may hold; undefined while another holds it. */
  acquireLease(name: string, owner: string, at: Timestamp, until: Timestamp): Promise<LeaseGrant | undefined>
  releaseLease(name: string, owner: string): Promise<void>

  /**
   * Gives up every lease of owners that are gone for certain (the previous process on an embedded store): nothing waits
   * for its time-out.
   */
  expireLeases(): Promise<void>
  /** Forgets idempotency keys whose time is over; returns how many. */
  purgeExpiredKeys(at: Timestamp): Promise<number>
  /**
   * One step of forgetting what is over: a few of the oldest rows of each kind, all kinds up to the same moment.
   * What is not over stays, and so do a request whose body is the text of an event that waits, a run whose deliveries
   * are still to be sent, every session that somebody has named.
   */
  purge(step: PurgeStep): Promise<PurgeResult>
  /**
   * One step of deleting the bodies of old requests, the oldest first; the requests stay, and so do bodies that are the
   * text of an event that waits.
   */
  purgeBodies(step: PurgeBodiesStep): Promise<PurgedBodies>
  getSpace(): Promise<Space>
  /** Gives at most so many free bytes back to the disk, rounded up to what the engine can part with. */
  reclaimSpace(bytes: number): Promise<void>
  /** Resolves when a write would be committed, rejects with `store_unavailable` when not. */
  probe(): Promise<void>
  close(): Promise<void>
}
