// Accepts requests: their log entries, idempotency keys, events, runs, deliveries and routes, each request as a whole.
import type { Json } from '../plugin/plugin.ts'
import { type Insertion, lastOfEach, type Row, settleAll, type Timestamp, type Transaction } from './transaction.ts'
import { eventInsertion, type NewEvent, toEventRows } from './tables/event.ts'
import { claimKeys, claimLatestKey, type IdempotencyKey, type Replay, replayReply } from './tables/idempotency.ts'
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
  const keys = commands.flatMap(({ idempotency }) => (idempotency && !idempotency.latestOnly ? idempotency : []))
  const at = Math.min(...commands.map((command) => command.at))
  const claimed = keys.length > 0 ? await claimKeys(tx, keys, at) : new Set()
  const claim = async ({ idempotency, firing }: AcceptCommand): Promise<AcceptResult | undefined> => {
    const isClaimed =
      !idempotency || (idempotency.latestOnly ? await claimLatestKey(tx, idempotency, at) : claimed.has(idempotency))
    if (!isClaimed) return await replayReply(tx, idempotency)
    return firing && !(await advanceSchedule(tx, firing)) ? { outcome: 'conflict' } : undefined
  }
  let latest: Promise<unknown> = Promise.resolve()
  return await settleAll(
    commands.map((command) => {
      if (!command.idempotency?.latestOnly) return claim(command)
      // The next command may take over the key before this one has read its reply, so each waits for the one before.
      const result = latest.then(() => claim(command))
      latest = result.catch(() => undefined)
      return result
    }),
  )
}

/**
 * Inserts everything that the commands accept, each table in one statement. All statements are given to the transaction
 * before this returns, so that a network is crossed once. Throws before the first one if a row cannot be made.
 */
export function insertAll(tx: Transaction, commands: readonly AcceptCommand[]): unknown[] {
  const tables = new Map<Insertion, Row[]>()
  const add = (insertion: Insertion, row: Row): void => {
    const rows = tables.get(insertion)
    if (rows) rows.push(row)
    else tables.set(insertion, [row])
  }
  for (const command of commands) addRows(command, add)
  return Array.from(tables, ([insertion, rows]) => tx.insert(insertion, lastOfEach(rows, insertion)))
}

function addRows(command: AcceptCommand, add: (insertion: Insertion, row: Row) => void): void {
  const { at, request, idempotency, events = [], runs = [], route, deliveries = [], state } = command
  if (request) add(requestInsertion, toAcceptedRow(request, command))
  for (const row of toEventRows(events, { at, requestId: request?.id })) add(eventInsertion, row)
  for (const run of runs) {
    add(runInsertion, toRunRow(run, { at, idempotency: run.kind === 'hook' ? idempotency : undefined }))
    // The row of an unnamed session is inserted when its run starts: one write less before the sender gets its answer.
    if (!run.unnamedSession) add(sessionInsertion, toSessionRow(run, at))
  }
  if (route) {
    add(routeInsertion, toRouteRow(route, at))
    add(sessionInsertion, toSessionRow(route, at))
  }
  for (const delivery of deliveries) add(deliveryInsertion, toDeliveryRow(delivery, at))
  if (state) add(stateInsertion, toStateRow(state.owner, state.key, state.value))
}
