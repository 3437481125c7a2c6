// The audit log: who did what, from where, on which record, with which outcome. Entries are only added, and purged.
import type { Insertion, Row, Timestamp, Transaction } from '../transaction.ts'
import { listPage, mapPage, type Page, type PageRequest } from './page.ts'

export const auditWrites = { recordAudit }
export const auditReads = { listAudit }

/** `client`: a credential; `sender`: a person on a channel; `local`: somebody with access to the machine. */
export const actorKinds = ['client', 'sender', 'agent', 'local'] as const
export const auditVias = ['http', 'websocket', 'mcp', 'channel', 'tool', 'file'] as const
/** `refused`: the role of the client, or the policy, does not allow it. */
export const auditOutcomes = ['done', 'refused', 'failed'] as const

/** Who acts, and from where. */
export interface AuditSource {
  actor: {
    kind: (typeof actorKinds)[number]
    /** The name of the client, the id of the sender, or the id of the agent. */
    name: string
    /** The run in which an agent acts. */
    runId?: string | undefined
  }
  via: (typeof auditVias)[number]
  /** The network address of a client, or the channel and account of a sender. */
  address?: string | undefined
}

/** What was done. It holds names and ids only: never a secret, and nothing that was said. */
export interface AuditAction {
  /** A noun and a verb: `run.cancel`. */
  action: string
  /** The id of the record that it concerns. */
  target?: string | undefined
  /** The agent that it concerns. */
  agentId?: string | undefined
}

export interface NewAuditEntry extends AuditSource, AuditAction {
  at: Timestamp
  outcome: (typeof auditOutcomes)[number]
  /** The code of the error, unless the outcome is `done`. */
  reason?: string | undefined
}

/** An entry for a change of the store, which is written in the transaction of the change, if there is one. */
export type AuditedChange = AuditSource & AuditAction

export interface StoredAuditEntry extends NewAuditEntry {
  seq: number
}

export const auditInsertion: Insertion = {
  table: 'audit',
  columns: {
    at: 'integer',
    actor_kind: 'text',
    actor: 'text',
    run_id: 'text',
    via: 'text',
    address: 'text',
    action: 'text',
    target: 'text',
    agent_id: 'text',
    outcome: 'text',
    reason: 'text',
  },
}

/** Names and ids of others may be long. */
const maxLength = 300

const limit = (text: string | undefined): string | null => text?.slice(0, maxLength).toWellFormed() ?? null

export const toAuditRow = (entry: NewAuditEntry): Row => [
  entry.at,
  entry.actor.kind,
  limit(entry.actor.name),
  limit(entry.actor.runId),
  entry.via,
  limit(entry.address),
  limit(entry.action),
  limit(entry.target),
  limit(entry.agentId),
  entry.outcome,
  limit(entry.reason),
]

/** Records something that changes nothing in the store, or that was refused. */
export async function recordAudit(tx: Transaction, entry: NewAuditEntry): Promise<void> {
  await tx.insert(auditInsertion, [toAuditRow(entry)])
}

/** Records a change in its transaction; nothing if nobody in particular made it. */
export async function recordChange(tx: Transaction, change: AuditedChange | undefined, at: Timestamp): Promise<void> {
  if (change) await recordAudit(tx, { ...change, at, outcome: 'done' })
}

export interface AuditFilter {
  actor?: string | undefined
  action?: string | undefined
  target?: string | undefined
  agentId?: string | undefined
  /** Only entries that concern one of these agents. */
  agents?: readonly string[] | undefined
  outcome?: NewAuditEntry['outcome'] | undefined
  since?: Timestamp | undefined
}

interface AuditRow {
  seq: number
  at: Timestamp
  actorKind: AuditSource['actor']['kind']
  actor: string
  runId: string | null
  via: AuditSource['via']
  address: string | null
  action: string
  target: string | null
  agentId: string | null
  outcome: NewAuditEntry['outcome']
  reason: string | null
}

const columns = `
  seq, at, actor_kind AS "actorKind", actor, run_id AS "runId", via, address, action, target, agent_id AS "agentId",
  outcome, reason`

/** A page of entries, newest first. */
export async function listAudit(
  tx: Transaction,
  filter: AuditFilter,
  page: PageRequest,
): Promise<Page<StoredAuditEntry>> {
  const { since = 0, agents, ...exact } = filter
  const wanted = Object.entries(exact).filter(([, value]) => value !== undefined) as [keyof AuditRow, string][]
  const matchesKey = (row: AuditRow): boolean =>
    row.at >= since &&
    (!agents || (row.agentId !== null && agents.includes(row.agentId))) &&
    wanted.every(([key, value]) => row[key] === value)
  const listing = {
    table: 'audit',
    keys: columns,
    matchesKey: wanted.length > 0 || since > 0 || agents ? matchesKey : undefined,
    isPastEnd: ({ at }: AuditRow) => at < since,
    columns,
    sizeOf: () => maxLength,
  }
  return mapPage(await listPage<AuditRow, AuditRow>(tx, listing, page), toEntry)
}

const toEntry = ({
  actorKind,
  actor,
  runId,
  address,
  target,
  agentId,
  reason,
  ...row
}: AuditRow): StoredAuditEntry => ({
  ...row,
  actor: { kind: actorKind, name: actor, ...(runId !== null && { runId }) },
  ...(address !== null && { address }),
  ...(target !== null && { target }),
  ...(agentId !== null && { agentId }),
  ...(reason !== null && { reason }),
})
