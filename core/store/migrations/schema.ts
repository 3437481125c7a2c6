// Migrations: how a database gets those that it has not had yet, and the list of all, with their statements. Times are
// milliseconds since 1970 and JSON is text. Partial indexes hold only live rows.
import { GatewayError } from '../../errors.ts'
import type { Json } from '../../plugin/plugin.ts'
import type { Row, Transaction } from '../transaction.ts'

/** Throws if a newer version of the gateway created the tables. */
export function assertKnown(version: number, newest: number): void {
  if (version <= newest) return
  throw new GatewayError(
    'store_unavailable',
    `The store has tables of version ${version}, but this program knows them only up to version ${newest}; ` +
      'start the newer program that wrote it, or restore the copy that was made before its migration.',
  )
}

/** Migrates tables of `version` (0: none exist) to the newest one. Runs inside one transaction. */
export async function migrate(
  tx: Transaction,
  { version, steps: all, dialect }: { version: number; steps: readonly Migration[]; dialect: Dialect },
): Promise<void> {
  const { integer, text, table } = dialect
  if (version === 0)
    await tx.run(`CREATE TABLE migration (version ${integer} NOT NULL PRIMARY KEY, name ${text} NOT NULL)${table}`)
  for (const [index, { name, statements, convert }] of all.entries()) {
    if (index < version) continue
    for (const statement of statements(dialect)) await tx.run(statement)
    await convert?.(tx)
    await tx.run('INSERT INTO migration (version, name) VALUES (?, ?)', index + 1, name)
  }
}

/** Whether the store has a table. */
export type HasTable = (tx: Transaction, name: string) => Promise<boolean>

/** The number of migrations that the tables have had. 0: there are no tables. */
export async function readVersion(tx: Transaction, hasTable: HasTable): Promise<number> {
  if (!(await hasTable(tx, 'migration'))) return 0
  const [newest] = await tx.all<{ version: number }>('SELECT max(version) AS version FROM migration')
  return newest?.version ?? 0
}

/** The SQL words in which database engines differ when tables are created. */
export interface Dialect {
  /** The type of a primary key column that numbers the rows in insertion order. */
  sequence: string
  integer: string
  /** The type of texts. They are compared by their bytes. */
  text: string
  /** The suffix of CREATE TABLE. */
  table: string
  /** The suffix of CREATE TABLE for a table whose rows are only looked up by primary key. */
  keyed: string
}

export interface Migration {
  name: string
  statements: (dialect: Dialect) => string[]
  /** Changes rows where a statement does not suffice. */
  convert?(tx: Transaction): Promise<void>
}

const firstTables = ({ sequence, integer, text, table, keyed }: Dialect): string[] => [
  // The body may be long. As the last column it is not read by lists that do not show it.
  `CREATE TABLE delivery (
    seq ${sequence}, id ${text} NOT NULL UNIQUE, at ${integer} NOT NULL, hook ${text} NOT NULL, client ${text} NOT NULL,
    status ${text} NOT NULL, result ${text} NOT NULL, awaited ${integer} NOT NULL, headers ${text} NOT NULL,
    query ${text}, body ${text}
  )${table}`,
  // The two busiest hooks have no index entries: the sender would wait for each, and lists find them quickly without.
  `CREATE INDEX delivery_of_hook ON delivery (hook, seq) WHERE hook NOT IN ('wake', 'agent')`,
  `CREATE INDEX delivery_other ON delivery (status, seq) WHERE status <> 'accepted'`,

  `CREATE TABLE idempotency (
    scope ${text} NOT NULL, key ${text} NOT NULL, body_hash ${text} NOT NULL, expires_at ${integer} NOT NULL,
    reply ${text} NOT NULL,
    PRIMARY KEY (scope, key)
  )${keyed}`,
  `CREATE INDEX idempotency_expiry ON idempotency (expires_at)`,

  // The message may be long, so it has a column of its own beside the rest of the spec.
  `CREATE TABLE run (
    seq ${sequence}, id ${text} NOT NULL UNIQUE, kind ${text} NOT NULL, agent_id ${text} NOT NULL,
    session_key ${text} NOT NULL, spec ${text} NOT NULL,
    status ${text} NOT NULL, attempt ${integer} NOT NULL, max_attempts ${integer} NOT NULL,
    fence ${integer} NOT NULL, owner ${text}, lease_until ${integer}, result ${text} NOT NULL,
    created_at ${integer} NOT NULL, started_at ${integer}, ended_at ${integer}, gate ${text}, gate_limit ${integer},
    message ${text} NOT NULL
  )${table}`,
  `CREATE INDEX run_lane ON run (session_key, seq) WHERE status IN ('queued', 'running')`,
  `CREATE UNIQUE INDEX run_one_at_a_time ON run (session_key) WHERE status = 'running'`,
  `CREATE INDEX run_queue ON run (seq, session_key) WHERE status = 'queued'`,
  `CREATE INDEX run_gate ON run (gate, seq, gate_limit)
    WHERE gate IS NOT NULL AND status IN ('queued', 'running')`,
  `CREATE INDEX run_lease ON run (lease_until) WHERE status = 'running'`,
  `CREATE INDEX run_of_session ON run (session_key, seq) WHERE status NOT IN ('queued', 'running')`,
  `CREATE INDEX run_unsuccessful ON run (status, seq) WHERE status IN ('failed', 'timed_out', 'cancelled')`,

  // The text of a wake is only in its delivery, which is `awaited` until the event is rendered.
  `CREATE TABLE event (
    seq ${sequence}, id ${text} NOT NULL, session_key ${text} NOT NULL, text ${text}, delivery_id ${text},
    mode ${text} NOT NULL,
    source ${text} NOT NULL, trusted ${integer} NOT NULL, at ${integer} NOT NULL, run_id ${text},
    rendered_at ${integer}
  )${table}`,
  // Also covers the search for wakes, which only runs at startup: an index of its own would slow down every accept.
  `CREATE INDEX event_waiting ON event (session_key, seq, mode, run_id) WHERE run_id IS NULL`,
  `CREATE INDEX event_taken ON event (run_id, seq) WHERE run_id IS NOT NULL AND rendered_at IS NULL`,

  `CREATE TABLE session (
    key ${text} NOT NULL PRIMARY KEY, agent_id ${text} NOT NULL, updated_at ${integer} NOT NULL,
    unnamed ${integer} NOT NULL
  )${keyed}`,
  `CREATE INDEX session_newest ON session (updated_at, key)`,

  `CREATE TABLE transcript (
    seq ${sequence}, session_key ${text} NOT NULL, run_id ${text} NOT NULL, message ${text} NOT NULL,
    at ${integer} NOT NULL
  )${table}`,
  `CREATE INDEX transcript_of_session ON transcript (session_key, seq)`,

  `CREATE TABLE route (
    session_key ${text} NOT NULL, channel ${text} NOT NULL, account_id ${text} NOT NULL, recipient ${text} NOT NULL,
    thread_id ${text},
    route ${text} NOT NULL, at ${integer} NOT NULL,
    PRIMARY KEY (session_key, channel)
  )${keyed}`,

  `CREATE TABLE message (
    seq ${sequence}, id ${text} NOT NULL UNIQUE, run_id ${text} NOT NULL,
    channel ${text} NOT NULL, account_id ${text} NOT NULL, recipient ${text} NOT NULL, thread_id ${text},
    route ${text} NOT NULL,
    text ${text} NOT NULL, status ${text} NOT NULL, reason ${text}, attempt ${integer} NOT NULL,
    fence ${integer} NOT NULL,
    owner ${text}, lease_until ${integer}, chunks_sent ${integer} NOT NULL, uncertain ${integer} NOT NULL,
    platform_id ${text}, next_at ${integer} NOT NULL, created_at ${integer} NOT NULL, ended_at ${integer}
  )${table}`,
  `CREATE INDEX message_lane ON message (channel, account_id, recipient, seq) WHERE status IN ('pending', 'sending')`,
  `CREATE UNIQUE INDEX message_one_at_a_time ON message (channel, account_id, recipient) WHERE status = 'sending'`,
  `CREATE INDEX message_due ON message (next_at) WHERE status = 'pending'`,
  `CREATE INDEX message_lease ON message (lease_until) WHERE status = 'sending'`,
  `CREATE INDEX message_of_run ON message (run_id, seq)`,
  `CREATE INDEX message_unsent ON message (status, seq) WHERE status <> 'sent'`,

  `CREATE TABLE schedule (
    seq ${sequence}, id ${text} NOT NULL UNIQUE, agent_id ${text} NOT NULL, name ${text} NOT NULL,
    timing ${text} NOT NULL,
    spec ${text} NOT NULL, next_at ${integer} NOT NULL, last_at ${integer}, created_at ${integer} NOT NULL
  )${table}`,
  `CREATE INDEX schedule_due ON schedule (next_at)`,
  `CREATE INDEX schedule_of_agent ON schedule (agent_id, seq)`,

  `CREATE TABLE state (part ${text} NOT NULL, key ${text} NOT NULL, value ${text} NOT NULL, PRIMARY KEY (part,
    key))${keyed}`,
  `CREATE TABLE lease (
    name ${text} NOT NULL PRIMARY KEY, owner ${text} NOT NULL, fence ${integer} NOT NULL, until ${integer} NOT NULL
  )${keyed}`,
]

/** Retries: runs that are tried again later, and the idempotency keys that failed runs release. */
const runRetries = ({ integer, text }: Dialect): string[] => [
  // `not_before` is the time of the retry; `aside` is 1 while later runs of the session may start before it.
  `ALTER TABLE run ADD COLUMN not_before ${integer}`,
  `ALTER TABLE run ADD COLUMN aside ${integer} NOT NULL DEFAULT 0`,
  // The idempotency key of the request that started the run.
  `ALTER TABLE run ADD COLUMN key_scope ${text}`,
  `ALTER TABLE run ADD COLUMN idempotency_key ${text}`,
  // The new columns follow the message, which may be long. The indexes hold what a claim reads, so it is not read.
  'DROP INDEX run_queue',
  `CREATE INDEX run_queue ON run (seq, session_key, not_before) WHERE status = 'queued'`,
  'DROP INDEX run_lane',
  `CREATE INDEX run_lane ON run (session_key, seq, aside) WHERE status IN ('queued', 'running')`,
  'DROP INDEX run_gate',
  `CREATE INDEX run_gate ON run (gate, seq, gate_limit, status, not_before)
    WHERE gate IS NOT NULL AND status IN ('queued', 'running')`,
  `CREATE INDEX run_retry ON run (not_before) WHERE status = 'queued' AND not_before IS NOT NULL`,
]

/** Events that wake a certain agent name it, and an index finds only those. */
const eventAgent = ({ text }: Dialect): string[] => [
  `ALTER TABLE event ADD COLUMN agent_id ${text}`,
  'CREATE INDEX event_of_agent ON event (agent_id, session_key, mode) WHERE agent_id IS NOT NULL AND run_id IS NULL',
]

/** Records which sessions and runs hold external content, and which effects their tools have had since. */
const exposure = ({ integer, text, keyed }: Dialect): string[] => [
  // `scope` is a session key or the id of a run. A table of its own, so that accepting a run writes nothing here.
  `CREATE TABLE exposure (
    scope ${text} NOT NULL PRIMARY KEY, from_start ${integer} NOT NULL, reads_private ${integer} NOT NULL,
    sends ${integer} NOT NULL
  )${keyed}`,
  // What tools did in earlier webhook sessions is unknown, so those sessions count as having read private data.
  `INSERT INTO exposure (scope, from_start, reads_private, sends)
    SELECT DISTINCT run.session_key, 1, 1, 0
    FROM run JOIN session ON session.key = run.session_key WHERE run.kind = 'hook'`,
]

/** Renames tables, columns, indexes and keys of stored JSON to the terms that the rest of the code uses. */
const useFieldTerms = (): string[] => [
  `DROP INDEX delivery_of_hook`,
  `DROP INDEX delivery_other`,
  `DROP INDEX message_lane`,
  `DROP INDEX message_one_at_a_time`,
  `DROP INDEX message_due`,
  `DROP INDEX message_lease`,
  `DROP INDEX message_of_run`,
  `DROP INDEX message_unsent`,
  `DROP INDEX run_gate`,

  'ALTER TABLE delivery RENAME TO request',
  'ALTER TABLE event RENAME COLUMN delivery_id TO request_id',
  'ALTER TABLE message RENAME TO outbox',
  'ALTER TABLE outbox RENAME COLUMN fence TO fencing_token',
  'ALTER TABLE run RENAME COLUMN fence TO fencing_token',
  'ALTER TABLE lease RENAME COLUMN fence TO fencing_token',
  'ALTER TABLE run RENAME COLUMN gate TO concurrency_key',
  'ALTER TABLE run RENAME COLUMN gate_limit TO concurrency_limit',
  'ALTER TABLE state RENAME COLUMN part TO owner',

  `CREATE INDEX request_of_hook ON request (hook, seq) WHERE hook NOT IN ('wake', 'agent')`,
  `CREATE INDEX request_other ON request (status, seq) WHERE status <> 'accepted'`,
  `CREATE INDEX outbox_lane ON outbox (channel, account_id, recipient, seq) WHERE status IN ('pending', 'sending')`,
  `CREATE UNIQUE INDEX outbox_one_at_a_time ON outbox (channel, account_id, recipient) WHERE status = 'sending'`,
  `CREATE INDEX outbox_due ON outbox (next_at) WHERE status = 'pending'`,
  `CREATE INDEX outbox_lease ON outbox (lease_until) WHERE status = 'sending'`,
  `CREATE INDEX outbox_of_run ON outbox (run_id, seq)`,
  `CREATE INDEX outbox_unsent ON outbox (status, seq) WHERE status <> 'sent'`,
  `CREATE INDEX run_concurrency ON run (concurrency_key, seq, concurrency_limit, status, not_before)
    WHERE concurrency_key IS NOT NULL AND status IN ('queued', 'running')`,

  // JSON.stringify escapes quotes inside strings, so the pattern only matches keys.
  `UPDATE run SET spec = replace(spec, '"starters":', '"initiators":') WHERE spec LIKE '%"starters":%'`,
  `UPDATE run SET spec = replace(spec, '"announceTo":', '"summarySession":') WHERE spec LIKE '%"announceTo":%'`,
  `UPDATE schedule SET spec = replace(spec, '"starters":', '"initiators":') WHERE spec LIKE '%"starters":%'`,
  `UPDATE schedule SET spec = replace(spec, '"announceTo":', '"summarySession":') WHERE spec LIKE '%"announceTo":%'`,
  `UPDATE request SET result = replace(result, '"proof":', '"authentication":') WHERE result LIKE '%"proof":%'`,
]

/** Deliveries may carry a file, which is stored as a reference. */
const deliveryFile = ({ text }: Dialect): string[] => [`ALTER TABLE outbox ADD COLUMN file ${text}`]

/** The index of the events of a request whose texts are not in its body: those that a mapping rendered. */
const eventRequest = (): string[] => [
  'CREATE INDEX event_of_request ON event (request_id) WHERE request_id IS NOT NULL AND text IS NOT NULL',
]

/** The provider for which a run waits to be retried, so that the run is found when the provider works again. */
const retryProvider = ({ text }: Dialect): string[] => [
  `ALTER TABLE run ADD COLUMN retry_provider ${text}`,
  `CREATE INDEX run_of_provider ON run (retry_provider, seq) WHERE status = 'queued' AND retry_provider IS NOT NULL`,
]

/** Steps: what the attempts at a run did, and how often a run was attempted without getting further. */
const steps = ({ sequence, integer, text, table }: Dialect): string[] => [
  // The columns of texts are the last ones, so that a list of steps does not read them.
  `CREATE TABLE step (
    seq ${sequence}, run_id ${text} NOT NULL, number ${integer} NOT NULL, attempt ${integer} NOT NULL,
    kind ${text} NOT NULL, status ${text} NOT NULL, started_at ${integer} NOT NULL, ended_at ${integer},
    detail ${text} NOT NULL, content ${text}, message ${text}
  )${table}`,
  `CREATE UNIQUE INDEX step_of_run ON step (run_id, number)`,
  `ALTER TABLE run ADD COLUMN steps ${integer} NOT NULL DEFAULT 0`,
  `ALTER TABLE run ADD COLUMN last_progress ${integer} NOT NULL DEFAULT 0`,
  `ALTER TABLE run ADD COLUMN attempts ${text} NOT NULL DEFAULT ''`,
]

/** The usage of models by quarter-hour, and which run started a run. */
const usage = ({ integer, text, keyed }: Dialect): string[] => {
  const sums = ['steps', 'unpriced_steps', 'input_tokens', 'output_tokens', 'cached_input_tokens']
    .concat(['cache_write_tokens', 'reasoning_tokens', 'cost_nano_usd'])
    .map((column) => `${column} ${integer} NOT NULL`)
    .join(', ')
  return [
    `CREATE TABLE usage (
      at ${integer} NOT NULL, agent_id ${text} NOT NULL, kind ${text} NOT NULL, name ${text} NOT NULL,
      model ${text} NOT NULL, ${sums},
      PRIMARY KEY (at, agent_id, kind, name, model)
    )${keyed}`,
    `CREATE TABLE session_usage (
      at ${integer} NOT NULL, session_key ${text} NOT NULL, ${sums},
      PRIMARY KEY (at, session_key)
    )${keyed}`,
    `ALTER TABLE run ADD COLUMN parent_id ${text}`,
    `CREATE INDEX run_of_parent ON run (parent_id, seq) WHERE parent_id IS NOT NULL`,
  ]
}

/** Budgets: what counts against them, and the runs that wait until one of them opens. */
const budgets = ({ integer, text, keyed }: Dialect): string[] => [
  `CREATE TABLE budget_usage (
    scope ${text} NOT NULL, at ${integer} NOT NULL, source ${text} NOT NULL, runs ${integer} NOT NULL,
    tokens ${integer} NOT NULL, nano_usd ${integer} NOT NULL,
    PRIMARY KEY (scope, at, source)
  )${keyed}`,
  `ALTER TABLE run ADD COLUMN waits_for ${text}`,
  'DROP INDEX run_retry',
  `CREATE INDEX run_retry ON run (not_before)
    WHERE status = 'queued' AND not_before IS NOT NULL AND waits_for IS NULL`,
  `CREATE INDEX run_waiting ON run (seq) WHERE status = 'queued' AND waits_for IS NOT NULL`,
  `CREATE INDEX run_of_budget ON run (waits_for) WHERE status = 'queued' AND waits_for IS NOT NULL`,
]

/** The audit log: who did what. */
const auditLog = ({ sequence, integer, text, table }: Dialect): string[] => [
  `CREATE TABLE audit (
    seq ${sequence}, at ${integer} NOT NULL, actor_kind ${text} NOT NULL, actor ${text} NOT NULL, run_id ${text},
    via ${text} NOT NULL, address ${text}, action ${text} NOT NULL, target ${text}, agent_id ${text},
    outcome ${text} NOT NULL, reason ${text}
  )${table}`,
]

interface WaitingRun {
  id: string
  result: string
  at: number
}

interface Message {
  role: string
  content: Json
}

/** Runs that were retried kept the messages of their attempts in their result. */
async function convertProgress(tx: Transaction): Promise<void> {
  const runs = await tx.all<WaitingRun>(
    `SELECT id, result, created_at AS at FROM run WHERE status IN ('queued', 'running') AND result LIKE '%"progress"%'`,
  )
  for (const { id, result, at } of runs) {
    const { progress, ...rest } = JSON.parse(result) as { progress?: Message[] }
    if (!progress) continue
    const rows = progress
      .flatMap((message) => toSteps(message))
      .map((step, index) => toRow({ id, at }, index + 1, step))
    for (const row of rows) await tx.run(insertSql, ...row)
    await tx.run('UPDATE run SET result = ?, steps = ? WHERE id = ?', JSON.stringify(rest), rows.length, id)
  }
}

interface Step {
  kind: 'model' | 'tool'
  tool?: string
  message: Json
}

const toSteps = ({ role, content }: Message): Step[] =>
  role === 'tool'
    ? (content as readonly { toolName: string }[]).map((part) => ({
        kind: 'tool',
        tool: part.toolName,
        message: part as unknown as Json,
      }))
    : [{ kind: 'model', message: { role, content } }]

const insertSql = `
  INSERT INTO step (run_id, number, attempt, kind, status, started_at, ended_at, detail, message)
  VALUES (?, ?, 1, ?, 'succeeded', ?, ?, ?, ?)`

const toRow = ({ id, at }: { id: string; at: number }, number: number, { kind, tool, message }: Step): Row => [
  id,
  number,
  kind,
  at,
  at,
  JSON.stringify(tool === undefined ? {} : { tool }),
  JSON.stringify(message),
]

/** Approvals: tool calls for which runs wait, and the runs that need not wait behind such a run. */
const approvals = ({ sequence, integer, text, table }: Dialect): string[] => [
  `CREATE TABLE approval (
    seq ${sequence}, id ${text} NOT NULL, run_id ${text} NOT NULL, step ${integer} NOT NULL, agent_id ${text} NOT NULL,
    session_key ${text} NOT NULL, tool ${text} NOT NULL, origin ${text} NOT NULL, rule ${text} NOT NULL,
    beyond ${integer} NOT NULL, code_hash ${text}, address ${text}, status ${text} NOT NULL,
    expires_at ${integer} NOT NULL, keeps_content ${integer} NOT NULL, created_at ${integer} NOT NULL,
    answered_at ${integer}, answered_by ${text}, reason ${text}, args ${text}
  )${table}`,
  'CREATE UNIQUE INDEX approval_id ON approval (id)',
  'CREATE INDEX approval_of_run ON approval (run_id, seq)',
  'CREATE INDEX approval_code ON approval (code_hash) WHERE code_hash IS NOT NULL',
  `CREATE INDEX approval_waiting ON approval (expires_at) WHERE status = 'waiting'`,
  'CREATE INDEX approval_args ON approval (answered_at) WHERE args IS NOT NULL',
  `ALTER TABLE run ADD COLUMN from_person ${integer} NOT NULL DEFAULT 0`,
  `CREATE INDEX run_asked ON run (session_key, seq) WHERE status = 'waiting'`,
  // The index holds what a claim reads.
  'DROP INDEX run_lane',
  `CREATE INDEX run_lane ON run (session_key, seq, aside, from_person) WHERE status IN ('queued', 'running')`,
]

/** Approvals of calls that no run makes: until when their callers are known to wait. */
const approvalCallers = ({ integer }: Dialect): string[] => [
  `ALTER TABLE approval ADD COLUMN awaited_until ${integer}`,
  'DROP INDEX approval_waiting',
  `CREATE INDEX approval_waiting ON approval (coalesce(awaited_until, expires_at)) WHERE status = 'waiting'`,
]

/** Deliveries may have choices, and end those of others. */
const deliveryChoices = ({ text }: Dialect): string[] => [
  `ALTER TABLE outbox ADD COLUMN choices ${text}`,
  `ALTER TABLE outbox ADD COLUMN ends_choices_of ${text}`,
]

/** When a delivery was first sent, for channels that ask the platform for it. */
const firstAttempt = ({ integer }: Dialect): string[] => [`ALTER TABLE outbox ADD COLUMN attempted_at ${integer}`]

/** In order. A released migration never changes; a later one corrects it. */
export const migrations: readonly Migration[] = [
  { name: '001-first-tables', statements: firstTables },
  { name: '002-run-retries', statements: runRetries },
  { name: '003-event-agent', statements: eventAgent },
  { name: '004-exposure', statements: exposure },
  { name: '005-field-terms', statements: useFieldTerms },
  { name: '006-delivery-file', statements: deliveryFile },
  { name: '007-event-request', statements: eventRequest },
  { name: '008-retry-provider', statements: retryProvider },
  { name: '009-steps', statements: steps, convert: convertProgress },
  { name: '010-usage', statements: usage },
  { name: '011-budgets', statements: budgets },
  { name: '012-audit', statements: auditLog },
  { name: '013-approvals', statements: approvals },
  { name: '014-approval-callers', statements: approvalCallers },
  { name: '015-delivery-choices', statements: deliveryChoices },
  { name: '016-first-attempt', statements: firstAttempt },
]

/** The version of the tables that this program works with. */
export const newestVersion = migrations.length
