// Accepts requests: their log entries, idempotency keys, events, runs, deliveries and routes, each request as a whole.
import type { Json } from '../plugin.ts'
import type { Insertion, Row, Timestamp, Transaction } from './transaction.ts'
import { eventInsertion, type NewEvent, toEventRows } from './tables/event.ts'
import { claimKeys, type IdempotencyKey, type Replay, replayReply } from './tables/idempotency.ts'
import { deliveryInsertion, type NewDelivery, toDeliveryRow } from './tables/outbox.ts'
import { type NewRequest, requestInsertion, toAcceptedRow } from './tables/request.ts'
import { type NewRoute, routeInsertion, toRouteRow } from './tables/route.ts'
import { type NewRun, runInsertion, toRunRow } from './tables/run.ts'
import { advanceSchedule, type Firing } from './tables/schedule.ts'
import { sessionInsertion, toSessionRow } from './tables/session.ts'
import { stateInsertion, toStateRow } from './tables/state.ts'

/** The operations of the store in this file. */
export const acceptWrites = { accept }

export interface AcceptCommand {
  at: Timestamp
  request?: NewRequest | undefined
  /** With a key, a second accept of the same scope and key changes nothing. */
  idempotency?: IdempotencyKey | undefined
  events?: readonly NewEvent[] | undefined
  runs?: readonly NewRun[] | undefined
  /** Where the latest message of this session came from. */
  route?: ({ sessionKey: string; agentId: string } & NewRoute) | undefined
  deliveries?: readonly NewDelivery[] | undefined
  /** Key-value state that changes together with the rest. */
  state?: { owner: string; key: string; value: Json } | undefined
  /** With a firing, the command is accepted only if the schedule has not fired for that time yet. */
  firing?: Firing | undefined
}

/** `conflict`: the key was used with another body, or the schedule has already fired. */
export type AcceptResult = { outcome: 'accepted' } | Replay

/** One object for all calls: it is cloned once per commit on its way to the main thread. */
export const accepted: AcceptResult = { outcome: 'accepted' }

/**
 * Stores the request, its idempotency key, events, runs and deliveries, or nothing at all. Rejects with
 * `store_unavailable` when too many calls are waiting, and after five seconds without an answer.
 */
export async function accept(tx: Transaction, command: AcceptCommand): Promise<AcceptResult> {
  const [refusal] = await claimAll(tx, [command])
  if (refusal) return refusal
  await Promise.all(insertAll(tx, [command]))
  return accepted
}

/** Claims what only one command can have. @returns the results of the commands that are not accepted, by index */
export async function claimAll(
  tx: Transaction,
  commands: readonly AcceptCommand[],
): Promise<readonly (AcceptResult | undefined)[]> {
  if (!commands.some(({ idempotency, firing }) => idempotency || firing)) return []
  const keys = commands.flatMap(({ idempotency }) => idempotency ?? [])
  const claimed = keys.length > 0 ? await claimKeys(tx, keys, Math.min(...commands.map(({ at }) => at))) : new Set()
  const claim = async ({ idempotency, firing }: AcceptCommand): Promise<AcceptResult | undefined> => {
    if (idempotency && !claimed.has(idempotency)) return await replayReply(tx, idempotency)
    return firing && !(await advanceSchedule(tx, firing)) ? { outcome: 'conflict' } : undefined
  }
  return await Promise.all(commands.map(claim))
}

/**
 * Inserts everything that the commands accept, each table in one statement. All statements are given to the transaction
 * before this returns, so that a network is crossed once. Throws before the first one if a row cannot be made.
 */
export function insertAll(tx: Transaction, commands: readonly AcceptCommand[]): unknown[] {
  const rows = {
    requests: commands.flatMap((command) => (command.request ? [toAcceptedRow(command.request, command)] : [])),
    events: commands.flatMap(({ at, request, events = [] }) => toEventRows(events, { at, requestId: request?.id })),
    runs: commands.flatMap(toRunRows),
    sessions: lastOfEach(commands.flatMap(toSessionRows), 1),
    routes: lastOfEach(
      commands.flatMap(({ at, route }) => (route ? [toRouteRow(route, at)] : [])),
      2,
    ),
    deliveries: commands.flatMap(({ at, deliveries = [] }) =>
      deliveries.map((delivery) => toDeliveryRow(delivery, at)),
    ),
    states: lastOfEach(
      commands.flatMap(({ state }) => (state ? [toStateRow(state.owner, state.key, state.value)] : [])),
      2,
    ),
  }
  const insert = (insertion: Insertion, given: readonly Row[]): unknown[] =>
    given.length > 0 ? [tx.insert(insertion, given)] : []
  return [
    ...insert(requestInsertion, rows.requests),
    ...insert(eventInsertion, rows.events),
    ...insert(runInsertion, rows.runs),
    ...insert(sessionInsertion, rows.sessions),
    ...insert(routeInsertion, rows.routes),
    ...insert(deliveryInsertion, rows.deliveries),
    ...insert(stateInsertion, rows.states),
  ]
}

const toRunRows = ({ at, runs = [], idempotency }: AcceptCommand): Row[] =>
  runs.map((run) => toRunRow(run, { at, idempotency: run.kind === 'hook' ? idempotency : undefined }))

/** The row of an unnamed session is inserted when its run starts: one write less before the sender gets its answer. */
function toSessionRows({ at, runs = [], route }: AcceptCommand): Row[] {
  const sessions = runs.filter(({ unnamedSession }) => !unnamedSession)
  return [...sessions, ...(route ? [route] : [])].map(({ sessionKey, agentId }) =>
    toSessionRow({ key: sessionKey, agentId, updatedAt: at }, false),
  )
}

/** One statement cannot update a row twice: of the rows with the same key in the first columns, the last one counts. */
function lastOfEach(rows: readonly Row[], keyColumns: number): readonly Row[] {
  if (rows.length < 2) return rows
  return [...new Map(rows.map((row) => [JSON.stringify(row.slice(0, keyColumns)), row])).values()]
}
