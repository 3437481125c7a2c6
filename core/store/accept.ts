// Accepts requests: their log entries, idempotency keys, events, runs, deliveries and routes, each request as a whole.
import type { Json } from '../plugin/plugin.ts'
import { type Insertion, oneOfEach, type Row, settleAll, type Timestamp, type Transaction } from './transaction.ts'
import { auditInsertion, type AuditedChange, toAuditRow } from './tables/audit.ts'
import { eventInsertion, type NewEvent, toEventRows } from './tables/event.ts'
import {
  claimKeys,
  claimLatestKey,
  hasKey,
  type IdempotencyKey,
  type Replay,
  replayReply,
} from './tables/idempotency.ts'
import { budgetScopesOf, joinScopes, readRoom, type RunLimit, toRunUsageRow, usageInsertion } from './tables/budget.ts'
import { deliveryInsertion, type NewDelivery, toDeliveryRow } from './tables/outbox.ts'
import { type NewRequest, requestInsertion, toAcceptedRow } from './tables/request.ts'
import { routeInsertion, type SenderRoute, toRouteRow } from './tables/route.ts'
import { type NewRun, runInsertion, toRunRow, toWaitingRunRow, waitingRunInsertion } from './tables/run.ts'
import { advanceSchedule, type Firing } from './tables/schedule.ts'
import { sessionInsertion, toSessionRow } from './tables/session.ts'
import { stateInsertion, toStateRow } from './tables/state.ts'

export const acceptWrites = { accept, acceptRows }

export interface AcceptCommand {
  at: Timestamp
  request?: NewRequest | undefined
  /** With a key, a second accept of the same scope and key changes nothing. */
  idempotency?: IdempotencyKey | undefined
  events?: readonly NewEvent[] | undefined
  runs?: readonly NewRun[] | undefined
  /** Where the latest message of this session came from. */
  route?: ({ sessionKey: string; agentId: string } & SenderRoute) | undefined
  deliveries?: readonly NewDelivery[] | undefined
  /** Key-value state that changes together with the rest. */
  state?: { owner: string; key: string; value: Json } | undefined
  /** With a firing, the command is accepted only if the schedule has not fired for that time yet. */
  firing?: Firing | undefined
  /** How many runs may be counted, if other gateways count runs at the same time. */
  limits?: readonly RunLimit[] | undefined
  /** Who made the change, for the audit log. */
  audit?: AuditedChange | undefined
}

/** `conflict`: the key was used with another body, or the schedule has already fired. */
export type AcceptResult = { outcome: 'accepted' } | Replay

/** `over_limit`: one of the command's limits has no room for its runs. */
export type StoreResult = AcceptResult | { outcome: 'over_limit' }

/** One object for all calls: it is cloned once per commit on its way to the main thread. */
export const accepted: AcceptResult = { outcome: 'accepted' }

/**
 * Stores the request, its idempotency key, events, runs and deliveries, or nothing at all. Rejects with
 * `store_unavailable` when too many calls are waiting, and after five seconds without an answer.
 */
export async function accept(tx: Transaction, command: AcceptCommand): Promise<StoreResult> {
  return await acceptRows(tx, ...toAcceptRows(command))
}

/**
 * A command as its rows, each after the name of its table. SQLite's thread gets it in this form: to copy a command, with
 * the names of all its fields, would cost 4 % of the CPU time of an agent request.
 */
export type AcceptRows = [
  at: Timestamp,
  rows: readonly (keyof typeof insertions | Row)[],
  /** The scopes of each run that may start, as one text, for the counts of budgets. */
  counted: readonly string[],
  claims?: Claims,
]

/** What only one command can have. */
type Claims = Pick<AcceptCommand, 'at' | 'idempotency' | 'firing' | 'limits'>

const insertions = {
  request: requestInsertion,
  event: eventInsertion,
  run: runInsertion,
  waitingRun: waitingRunInsertion,
  session: sessionInsertion,
  route: routeInsertion,
  outbox: deliveryInsertion,
  state: stateInsertion,
  audit: auditInsertion,
}

/** The same for a command whose rows are made. */
export async function acceptRows(tx: Transaction, ...command: AcceptRows): Promise<StoreResult> {
  const [, , , claims] = command
  const [refusal] = claims ? await claimAll(tx, [claims]) : []
  if (refusal) return refusal
  for (const [insertion, row] of rowsOf(command)) await tx.insert(insertion, [row])
  return accepted
}

/** Claims what only one command can have. @returns the results of the commands that are not accepted, by index */
export async function claimAll(
  tx: Transaction,
  commands: readonly Claims[],
): Promise<readonly (StoreResult | undefined)[]> {
  if (!commands.some(({ idempotency, firing, limits }) => idempotency || firing || limits)) return []
  const refused = await findOverLimit(tx, commands)
  const admitted = commands.filter((command) => !refused.has(command))
  const keys = admitted.flatMap(({ idempotency }) => (idempotency && !idempotency.latestOnly ? idempotency : []))
  const at = Math.min(...commands.map((command) => command.at))
  const claimed = keys.length > 0 ? await claimKeys(tx, keys, at) : new Set()
  const claim = async (command: Claims): Promise<StoreResult | undefined> => {
    const { idempotency, firing } = command
    if (refused.has(command)) return (await findReplay(tx, idempotency, at)) ?? { outcome: 'over_limit' }
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

/** The commands whose runs have no room in their limits. */
async function findOverLimit(tx: Transaction, commands: readonly Claims[]): Promise<ReadonlySet<Claims>> {
  const limits = commands.flatMap((command) => command.limits ?? [])
  if (limits.length === 0) return new Set()
  const add = await readRoom(tx, limits)
  return new Set(commands.filter((command) => command.limits && !add(command.limits)))
}

/** The reply to a request that was accepted before. */
async function findReplay(
  tx: Transaction,
  key: IdempotencyKey | undefined,
  at: Timestamp,
): Promise<Replay | undefined> {
  if (!key || !(await hasKey(tx, key, at))) return undefined
  const replay = await replayReply(tx, key)
  return key.latestOnly && replay.outcome === 'conflict' ? undefined : replay
}

/**
 * Inserts everything that the commands accept, each table in one statement. All statements are given to the transaction
 * before this returns, so that a network is crossed once.
 */
export function insertAll(tx: Transaction, commands: readonly AcceptRows[]): unknown[] {
  const tables = new Map<Insertion, Row[]>()
  for (const command of commands)
    for (const [insertion, row] of rowsOf(command)) {
      const rows = tables.get(insertion)
      if (rows) rows.push(row)
      else tables.set(insertion, [row])
    }
  return Array.from(tables, ([insertion, rows]) =>
    tx.insert(insertion, insertion.atEnd ? rows : oneOfEach(rows, insertion)),
  )
}

function* rowsOf([at, rows, counted]: AcceptRows): Iterable<[Insertion, Row]> {
  for (let index = 0; index < rows.length; index += 2)
    yield [insertions[rows[index] as keyof typeof insertions], rows[index + 1] as Row]
  for (const scopes of counted) yield [usageInsertion, toRunUsageRow(scopes, at)]
}

export function toAcceptRows(command: AcceptCommand): AcceptRows {
  const {
    at,
    request,
    idempotency,
    events = [],
    runs = [],
    route,
    deliveries = [],
    state,
    audit,
    firing,
    limits,
  } = command
  const rows: (keyof typeof insertions | Row)[] = []
  const counted: string[] = []
  if (request) rows.push('request', toAcceptedRow(request, command))
  for (const row of toEventRows(events, { at, requestId: request?.id })) rows.push('event', row)
  for (const run of runs) {
    const context = { at, idempotency: run.kind === 'hook' ? idempotency : undefined, requestId: request?.id }
    if (run.waiting) rows.push('waitingRun', toWaitingRunRow(run, run.waiting, context))
    else {
      rows.push('run', toRunRow(run, context))
      // A run that waits counts when it may start.
      counted.push(joinScopes(budgetScopesOf(run)))
    }
    // The row of an unnamed session is inserted when its run starts: one write less before the sender gets its answer.
    if (!run.unnamedSession) rows.push('session', toSessionRow(run, at))
  }
  if (route) rows.push('route', toRouteRow(route, at), 'session', toSessionRow(route, at))
  for (const delivery of deliveries) rows.push('outbox', toDeliveryRow(delivery, at))
  if (state) rows.push('state', toStateRow(state.owner, state.key, state.value))
  if (audit) rows.push('audit', toAuditRow({ ...audit, at, outcome: 'done' }))
  return idempotency || firing || limits
    ? [at, rows, counted, { at, idempotency, firing, limits }]
    : [at, rows, counted]
}
