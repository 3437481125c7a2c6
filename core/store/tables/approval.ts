// Approvals: tool calls that a person must allow, and what became of them.
import { readJson } from '../../json.ts'
import type { Json } from '../../plugin/plugin.ts'
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'
import { type AuditedChange, recordChange } from './audit.ts'
import { deliveryInsertion, insertDeliveries, type NewDelivery, toDeliveryRow } from './outbox.ts'
import { type Condition, listPage, mapPage, type Page, type PageRequest } from './page.ts'

export const approvalWrites = { createApproval, extendApproval, answerApproval }
export const approvalReads = {
  getApproval,
  findApproval,
  listApprovals,
  readRunApprovals,
  listDueApprovals,
  getNextApprovalExpiry,
}

/** `expired`: nobody answered in time, which denies the call. `cancelled`: its run or its client was gone first. */
export const approvalStatuses = ['waiting', 'approved', 'denied', 'expired', 'cancelled'] as const
export type ApprovalStatus = (typeof approvalStatuses)[number]

/** Who has answered. */
export interface Answerer {
  role: 'approver' | 'operator' | 'admin'
  /** How it was answered: the name of a channel, or `api`. */
  via: string
  /** The id of the sender on the channel, or the name of the credential. */
  id: string
}

export interface NewApproval {
  id: string
  /** Empty for a call that no run makes. */
  runId: string
  /** The client of `/mcp` that makes the call, which may not approve it. Null: a run makes it. */
  askedBy: string | null
  /** The number of the call's step; 0 without a run. */
  step: number
  agentId: string
  sessionKey: string
  tool: string
  /** The arguments with which the call will be made, as JSON. */
  args: string
  /** Where the run came from, in words for people. */
  origin: string
  /** The rule that asks. */
  rule: string
  beyondRuleOfTwo: boolean
  /** True: only texts that the turn sees are the reason, so that it may be approved for the whole turn. */
  isNarrowed: boolean
  /** The SHA-256 of the code with which it is answered in a chat. Null: it is not answered there. */
  codeHash: string | null
  /** Where the outcome is reported. Null: nobody was asked in a chat. */
  address: ApprovalAddress | null
  expiresAt: Timestamp
  /**
   * Until when the caller of a call that no run makes is known to wait; it extends this again and again. Null: a run
   * waits, which survives its gateway.
   */
  awaitedUntil: Timestamp | null
  /** False: the arguments are deleted when the run ends. */
  keepsContent: boolean
}

/** `wanted`: the recipient as it is configured, for the gateway that has its channel. */
export type ApprovalAddress = Pick<NewDelivery, 'channel' | 'accountId' | 'to' | 'threadId' | 'route' | 'wanted'>

export interface StoredApproval extends Omit<NewApproval, 'args' | 'keepsContent'> {
  seq: number
  /** Null: they were deleted. */
  args: string | null
  status: ApprovalStatus
  createdAt: Timestamp
  answeredAt: Timestamp | null
  answeredBy: Answerer | null
  /** Why it was denied, in the words of who denied it. */
  reason: string | null
  /** True: it was approved for all such calls of the turn. */
  forTurn: boolean
}

const insertion: Insertion = {
  table: 'approval',
  columns: {
    id: 'text',
    run_id: 'text',
    asked_by: 'text',
    step: 'integer',
    agent_id: 'text',
    session_key: 'text',
    tool: 'text',
    origin: 'text',
    rule: 'text',
    beyond: 'integer',
    is_narrowed: 'integer',
    code_hash: 'text',
    address: 'text',
    expires_at: 'integer',
    awaited_until: 'integer',
    keeps_content: 'integer',
    created_at: 'integer',
    args: 'text',
  },
}

/** The call may be a repetition, because its first answer was lost. */
const onConflict = 'ON CONFLICT (id) DO NOTHING'
const newInsertion: Insertion = { ...insertion, onConflict }
const messageInsertion: Insertion = { ...deliveryInsertion, onConflict }

const toRow = (approval: NewApproval, at: Timestamp): Row => [
  approval.id,
  approval.runId,
  approval.askedBy,
  approval.step,
  approval.agentId,
  approval.sessionKey,
  approval.tool,
  approval.origin,
  approval.rule,
  Number(approval.beyondRuleOfTwo),
  Number(approval.isNarrowed),
  approval.codeHash,
  approval.address && JSON.stringify(approval.address),
  approval.expiresAt,
  approval.awaitedUntil,
  Number(approval.keepsContent),
  at,
  approval.args,
]

/** Approvals of calls, and the messages that ask for them. */
export interface AskedApprovals {
  at: Timestamp
  approvals: readonly NewApproval[]
  deliveries: readonly NewDelivery[]
}

export async function createApproval(tx: Transaction, { at, approvals, deliveries }: AskedApprovals): Promise<void> {
  const rows = approvals.map((approval) => toRow(approval, at))
  await tx.insert(newInsertion, rows)
  await tx.insert(
    messageInsertion,
    deliveries.map((delivery) => toDeliveryRow(delivery, at)),
  )
}

interface ApprovalRow extends Omit<
  StoredApproval,
  'beyondRuleOfTwo' | 'isNarrowed' | 'forTurn' | 'address' | 'answeredBy'
> {
  beyond: number
  isNarrowed: number
  forTurn: number
  address: string | null
  answeredBy: string | null
}

const columns = `
  seq, id, run_id AS "runId", asked_by AS "askedBy", step, agent_id AS "agentId", session_key AS "sessionKey", tool,
  origin, rule, beyond, is_narrowed AS "isNarrowed", for_turn AS "forTurn",
  code_hash AS "codeHash", address, expires_at AS "expiresAt", awaited_until AS "awaitedUntil",
  created_at AS "createdAt", status, answered_at AS "answeredAt", answered_by AS "answeredBy", reason, args`

const toApproval = ({ beyond, isNarrowed, forTurn, address, answeredBy, ...row }: ApprovalRow): StoredApproval => ({
  ...row,
  beyondRuleOfTwo: beyond === 1,
  isNarrowed: isNarrowed === 1,
  forTurn: forTurn === 1,
  address: address === null ? null : (JSON.parse(address) as ApprovalAddress),
  answeredBy: answeredBy === null ? null : (JSON.parse(answeredBy) as Answerer),
})

const getSql = `SELECT ${columns} FROM approval WHERE id = ?`

export async function getApproval(tx: Transaction, id: string): Promise<StoredApproval | undefined> {
  const [row] = await tx.all<ApprovalRow>(getSql, id)
  return row && toApproval(row)
}

const findSql = `SELECT ${columns} FROM approval WHERE code_hash = ? ORDER BY seq DESC LIMIT 1`

/** The approval with this code, answered or not. */
export async function findApproval(tx: Transaction, codeHash: string): Promise<StoredApproval | undefined> {
  const [row] = await tx.all<ApprovalRow>(findSql, codeHash)
  return row && toApproval(row)
}

export interface ApprovalFilter {
  status?: ApprovalStatus | undefined
  runId?: string | undefined
  /** Only those of these agents. */
  agents?: readonly string[] | undefined
}

/** Approvals, newest first. */
export async function listApprovals(
  tx: Transaction,
  { status, runId, agents }: ApprovalFilter,
  page: PageRequest,
): Promise<Page<StoredApproval>> {
  const matchesKey = (key: Pick<ApprovalRow, 'seq' | 'status' | 'agentId'>): boolean =>
    (status === undefined || key.status === status) && (!agents || agents.includes(key.agentId))
  const where: Condition | undefined =
    runId !== undefined ? ['run_id = ?', runId] : status === 'waiting' ? [`status = 'waiting'`] : undefined
  const listing = {
    table: 'approval',
    keys: 'seq, status, agent_id AS "agentId"',
    where,
    matchesKey: status === undefined && !agents ? undefined : matchesKey,
    columns,
    sizeOf: ({ args }: ApprovalRow) => args?.length ?? 0,
  }
  return mapPage(await listPage(tx, listing, page), toApproval)
}

const ofRunSql = `SELECT ${columns} FROM approval WHERE run_id = ? ORDER BY seq`

/** All approvals of a run, oldest first. */
export async function readRunApprovals(tx: Transaction, runId: string): Promise<StoredApproval[]> {
  return (await tx.all<ApprovalRow>(ofRunSql, runId)).map(toApproval)
}

/** When an approval ends that nobody answers. No caller is known to wait for longer than the approval may take. */
const deadline = 'coalesce(awaited_until, expires_at)'
const dueSql = `
  SELECT ${columns} FROM approval WHERE status = 'waiting' AND ${deadline} <= ? ORDER BY ${deadline} LIMIT 100`

/** Some of those that nobody has answered in time, or for which nobody waits any more. */
export async function listDueApprovals(tx: Transaction, at: Timestamp): Promise<StoredApproval[]> {
  return (await tx.all<ApprovalRow>(dueSql, at)).map(toApproval)
}

const nextSql = `SELECT min(${deadline}) AS at FROM approval WHERE status = 'waiting'`

export async function getNextApprovalExpiry(tx: Transaction): Promise<Timestamp | undefined> {
  const [row] = await tx.all<{ at: Timestamp | null }>(nextSql)
  return row?.at ?? undefined
}

const extendSql = `UPDATE approval SET awaited_until = ? WHERE id = ? AND status = 'waiting'`

/** Says that the caller waits until this time, or longer. */
export async function extendApproval(tx: Transaction, id: string, awaitedUntil: Timestamp): Promise<void> {
  await tx.run(extendSql, awaitedUntil, id)
}

export interface ApprovalAnswer {
  status: Exclude<ApprovalStatus, 'waiting'>
  at: Timestamp
  by: Answerer | null
  reason: string | null
  /** True: it is approved for all such calls of the turn. */
  forTurn?: boolean | undefined
  /** Tells the approver. */
  deliveries: readonly NewDelivery[]
  /** Who has answered, for the audit log. */
  audit?: AuditedChange | undefined
}

/** An answer after the end of the time is too late, and nothing expires before it. A caller may leave at any time. */
const timeConditions: Record<ApprovalAnswer['status'], string> = {
  approved: `AND ${deadline} > ?`,
  denied: `AND ${deadline} > ?`,
  expired: `AND ${deadline} <= ?`,
  cancelled: '',
}
const answerSql = (status: ApprovalAnswer['status']) => `
  UPDATE approval SET status = '${status}', answered_at = ?, answered_by = ?, reason = ?, for_turn = ?
  WHERE id = ? AND status = 'waiting' ${timeConditions[status]}
  RETURNING run_id AS "runId"`
const requeueSql = `UPDATE run SET status = 'queued' WHERE id = ? AND status = 'waiting'`

/**
 * Answers an approval, and returns its run to the queue if that waits.
 * @returns false when it was answered before or its run has ended; or when it is too late, or too early to expire
 */
export async function answerApproval(tx: Transaction, id: string, answer: ApprovalAnswer): Promise<boolean> {
  const { status, at, by, reason, forTurn = false, deliveries, audit } = answer
  const values = [at, by && JSON.stringify(by), reason, Number(forTurn), id, ...(status === 'cancelled' ? [] : [at])]
  const [row] = await tx.all<{ runId: string }>(answerSql(status), ...values)
  if (!row) return false
  await tx.run(requeueSql, row.runId)
  await insertDeliveries(tx, deliveries, at)
  await recordChange(tx, audit, at)
  return true
}

const cancelSql = `
  UPDATE approval SET status = 'cancelled', answered_at = ? WHERE run_id = ? AND status = 'waiting' RETURNING id`
const forgetSql = 'UPDATE approval SET args = NULL WHERE run_id = ? AND keeps_content = 0'

/** An approval that ends with its run, and the message about that. */
export interface ApprovalNotice {
  approvalId: string
  /** Absent: nobody was asked in a chat. */
  delivery?: NewDelivery | undefined
}

/** Ends the open approvals of a run that ends, and sends those of the messages whose approval was open. */
export async function cancelApprovals(
  tx: Transaction,
  runId: string,
  { at, notices }: { at: Timestamp; notices: readonly ApprovalNotice[] },
): Promise<void> {
  const rows = await tx.all<{ id: string }>(cancelSql, at, runId)
  await tx.run(forgetSql, runId)
  const cancelled = new Set(rows.map(({ id }) => id))
  const deliveries = notices.flatMap(({ approvalId, delivery }) =>
    delivery && cancelled.has(approvalId) ? [delivery] : [],
  )
  await insertDeliveries(tx, deliveries, at)
}

/** The arguments as they were stored. */
export const parseArgs = ({ args }: Pick<StoredApproval, 'args'>): Json => readJson(args ?? '{}') as Json
