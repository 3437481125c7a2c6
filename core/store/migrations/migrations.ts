// The migrations, and with them the tables of the store. Times are milliseconds since 1970 and JSON is text. Partial indexes
// hold only live rows. Long texts are the last columns: SQLite reads a row in order, and lists do not show them.
import type { Dialect, Migration } from './migrate.ts'

const firstTables = (dialect: Dialect): string[] => [
  ...requestTables(dialect),
  ...runTables(dialect),
  ...sessionTables(dialect),
  ...outboxTables(dialect),
  ...approvalTables(dialect),
  ...usageTables(dialect),
  ...otherTables(dialect),
]

const requestTables = ({ sequence, integer, text, table, keyed }: Dialect): string[] => [
  `CREATE TABLE request (
    seq ${sequence}, id ${text} NOT NULL UNIQUE, at ${integer} NOT NULL, hook ${text} NOT NULL, client ${text} NOT NULL,
    status ${text} NOT NULL, result ${text} NOT NULL, awaited ${integer} NOT NULL, headers ${text} NOT NULL,
    query ${text}, body ${text}
  )${table}`,
  // The two busiest hooks have no index entries: the sender would wait for each, and lists find them quickly without.
  `CREATE INDEX request_of_hook ON request (hook, seq) WHERE hook NOT IN ('wake', 'agent')`,
  `CREATE INDEX request_other ON request (status, seq) WHERE status <> 'accepted'`,

  `CREATE TABLE idempotency (
    scope ${text} NOT NULL, key ${text} NOT NULL, body_hash ${text} NOT NULL, expires_at ${integer} NOT NULL,
    reply ${text} NOT NULL,
    PRIMARY KEY (scope, key)
  )${keyed}`,
  `CREATE INDEX idempotency_expiry ON idempotency (expires_at)`,

  // The text of a wake is only in its request, which is `awaited` until the event is rendered.
  `CREATE TABLE event (
    seq ${sequence}, id ${text} NOT NULL, session_key ${text} NOT NULL, mode ${text} NOT NULL, agent_id ${text},
    source ${text} NOT NULL, trusted ${integer} NOT NULL, at ${integer} NOT NULL, request_id ${text}, run_id ${text},
    retry_at ${integer} NOT NULL DEFAULT 0,
    rendered_at ${integer}, text ${text}
  )${table}`,
  // Also covers the search for wakes, which only runs at startup: an index of its own would slow down every accept.
  `CREATE INDEX event_waiting ON event (session_key, seq, mode, retry_at, run_id) WHERE run_id IS NULL`,
  `CREATE INDEX event_taken ON event (run_id, seq) WHERE run_id IS NOT NULL AND rendered_at IS NULL`,
  `CREATE INDEX event_of_agent ON event (agent_id, session_key, mode) WHERE agent_id IS NOT NULL AND run_id IS NULL`,
  // The events of a request whose texts are not in its body: those that a mapping rendered.
  `CREATE INDEX event_of_request ON event (request_id) WHERE request_id IS NOT NULL AND text IS NOT NULL`,
]

const runTables = ({ sequence, integer, text, table, keyed }: Dialect): string[] => [
  // `not_before` is the time of the retry; `aside` is 1 while later runs of the session may start before it.
  // `cancelled` is 1 if the run was cancelled while it was running: whoever holds it ends it.
  // `started_by` is the session whose tools started the run.
  // `key_scope` and `idempotency_key` are the key of the request that started the run.
  `CREATE TABLE run (
    seq ${sequence}, id ${text} NOT NULL UNIQUE, kind ${text} NOT NULL, agent_id ${text} NOT NULL,
    session_key ${text} NOT NULL, status ${text} NOT NULL DEFAULT 'queued', attempt ${integer} NOT NULL DEFAULT 0,
    max_attempts ${integer} NOT NULL, last_progress ${integer} NOT NULL DEFAULT 0, steps ${integer} NOT NULL DEFAULT 0,
    fencing_token ${integer} NOT NULL DEFAULT 0, owner ${text}, lease_until ${integer}, not_before ${integer},
    time_left ${integer}, deadline ${integer},
    aside ${integer} NOT NULL DEFAULT 0, cancelled ${integer} NOT NULL DEFAULT 0, retry_provider ${text},
    waits_for ${text}, from_person ${integer} NOT NULL DEFAULT 0, concurrency_key ${text},
    concurrency_limit ${integer}, key_scope ${text},
    idempotency_key ${text}, parent_id ${text}, started_by ${text}, created_at ${integer} NOT NULL, started_at ${integer},
    ended_at ${integer}, attempts ${text} NOT NULL DEFAULT '', spec ${text} NOT NULL, result ${text} NOT NULL DEFAULT '{}',
    message ${text} NOT NULL
  )${table}`,
  // The indexes of live runs hold what a claim reads, so that it reads no rows.
  `CREATE INDEX run_lane ON run (session_key, seq, aside, from_person) WHERE status IN ('queued', 'running')`,
  `CREATE UNIQUE INDEX run_one_at_a_time ON run (session_key) WHERE status = 'running'`,
  `CREATE INDEX run_queue ON run (seq, session_key, not_before) WHERE status = 'queued'`,
  `CREATE INDEX run_concurrency ON run (concurrency_key, seq, concurrency_limit, status, not_before)
    WHERE concurrency_key IS NOT NULL AND status IN ('queued', 'running')`,
  `CREATE INDEX run_lease ON run (lease_until) WHERE status = 'running'`,
  `CREATE INDEX run_retry ON run (not_before)
    WHERE status = 'queued' AND not_before IS NOT NULL AND waits_for IS NULL`,
  `CREATE INDEX run_deadline ON run (deadline) WHERE status = 'queued' AND deadline IS NOT NULL`,
  // The runs that wait for a provider, which are found when it works again.
  `CREATE INDEX run_of_provider ON run (retry_provider, seq) WHERE status = 'queued' AND retry_provider IS NOT NULL`,
  `CREATE INDEX run_waiting ON run (seq) WHERE status = 'queued' AND waits_for IS NOT NULL`,
  `CREATE INDEX run_of_budget ON run (waits_for) WHERE status = 'queued' AND waits_for IS NOT NULL`,
  `CREATE INDEX run_asked ON run (session_key, seq) WHERE status = 'waiting'`,
  `CREATE INDEX run_of_session ON run (session_key, seq) WHERE status NOT IN ('queued', 'running')`,
  `CREATE INDEX run_of_parent ON run (parent_id, seq) WHERE parent_id IS NOT NULL`,
  `CREATE INDEX run_started_by ON run (started_by)
    WHERE started_by IS NOT NULL AND status IN ('queued', 'running', 'waiting')`,
  `CREATE INDEX run_unsuccessful ON run (status, seq) WHERE status IN ('failed', 'timed_out', 'cancelled')`,

  `CREATE TABLE step (
    seq ${sequence}, run_id ${text} NOT NULL, number ${integer} NOT NULL, attempt ${integer} NOT NULL,
    kind ${text} NOT NULL, status ${text} NOT NULL, started_at ${integer} NOT NULL, ended_at ${integer},
    detail ${text} NOT NULL, content ${text}, message ${text}
  )${table}`,
  `CREATE UNIQUE INDEX step_of_run ON step (run_id, number)`,

  // `scope` is a session key or the id of a run. A table of its own, so that accepting a run writes nothing here.
  `CREATE TABLE exposure (
    scope ${text} NOT NULL PRIMARY KEY, from_start ${integer} NOT NULL, reads_private ${integer} NOT NULL,
    sends ${integer} NOT NULL
  )${keyed}`,
]

const sessionTables = ({ sequence, integer, text, table, keyed }: Dialect): string[] => [
  `CREATE TABLE session (
    key ${text} NOT NULL PRIMARY KEY, agent_id ${text} NOT NULL, updated_at ${integer} NOT NULL,
    unnamed ${integer} NOT NULL
  )${keyed}`,
  `CREATE INDEX session_newest ON session (updated_at, key)`,

  `CREATE TABLE transcript (
    seq ${sequence}, session_key ${text} NOT NULL, run_id ${text} NOT NULL, at ${integer} NOT NULL,
    message ${text} NOT NULL
  )${table}`,
  `CREATE INDEX transcript_of_session ON transcript (session_key, seq)`,

  `CREATE TABLE route (
    session_key ${text} NOT NULL, channel ${text} NOT NULL, account_id ${text} NOT NULL, recipient ${text} NOT NULL,
    thread_id ${text}, at ${integer} NOT NULL, route ${text} NOT NULL,
    PRIMARY KEY (session_key, channel)
  )${keyed}`,
]

const outboxTables = ({ sequence, integer, text, table, keyed }: Dialect): string[] => [
  // `wanted` is the recipient that is not resolved yet.
  // A new delivery is due at time 0, because the clock of the gateway that claims it may be behind.
  `CREATE TABLE outbox (
    seq ${sequence}, id ${text} NOT NULL UNIQUE, run_id ${text} NOT NULL, channel ${text} NOT NULL,
    account_id ${text} NOT NULL, recipient ${text} NOT NULL, thread_id ${text}, status ${text} NOT NULL, reason ${text},
    attempt ${integer} NOT NULL DEFAULT 0, fencing_token ${integer} NOT NULL DEFAULT 0, owner ${text}, lease_until ${integer},
    chunks_sent ${integer} NOT NULL DEFAULT 0, uncertain ${integer} NOT NULL DEFAULT 0, attempted_at ${integer}, platform_id ${text},
    next_at ${integer} NOT NULL DEFAULT 0, created_at ${integer} NOT NULL, ended_at ${integer}, ends_choices_of ${text},
    wanted ${text}, file ${text}, choices ${text}, route ${text} NOT NULL, text ${text} NOT NULL
  )${table}`,
  `CREATE INDEX outbox_lane ON outbox (channel, account_id, recipient, seq) WHERE status IN ('pending', 'sending')`,
  `CREATE UNIQUE INDEX outbox_one_at_a_time ON outbox (channel, account_id, recipient) WHERE status = 'sending'`,
  `CREATE INDEX outbox_due ON outbox (next_at) WHERE status = 'pending'`,
  `CREATE INDEX outbox_lease ON outbox (lease_until) WHERE status = 'sending'`,
  `CREATE INDEX outbox_of_run ON outbox (run_id, seq)`,
  `CREATE INDEX outbox_unsent ON outbox (status, seq) WHERE status <> 'sent'`,

  // The ids that platforms have given to the messages of deliveries.
  `CREATE TABLE sent_message (
    delivery ${integer} NOT NULL, platform_id ${text} NOT NULL,
    PRIMARY KEY (delivery, platform_id)
  )${keyed}`,
  `CREATE INDEX sent_message_id ON sent_message (platform_id)`,
]

const approvalTables = ({ sequence, integer, text, table }: Dialect): string[] => [
  // `awaited_until` is until when the caller of a call that no run makes is known to wait.
  `CREATE TABLE approval (
    seq ${sequence}, id ${text} NOT NULL UNIQUE, run_id ${text} NOT NULL, step ${integer} NOT NULL,
    agent_id ${text} NOT NULL, session_key ${text} NOT NULL, tool ${text} NOT NULL, origin ${text} NOT NULL,
    rule ${text} NOT NULL, beyond ${integer} NOT NULL, code_hash ${text}, address ${text}, status ${text} NOT NULL DEFAULT 'waiting',
    expires_at ${integer} NOT NULL, awaited_until ${integer}, keeps_content ${integer} NOT NULL,
    created_at ${integer} NOT NULL, answered_at ${integer}, answered_by ${text}, reason ${text}, args ${text}
  )${table}`,
  `CREATE INDEX approval_of_run ON approval (run_id, seq)`,
  `CREATE INDEX approval_code ON approval (code_hash) WHERE code_hash IS NOT NULL`,
  `CREATE INDEX approval_waiting ON approval (coalesce(awaited_until, expires_at)) WHERE status = 'waiting'`,
  `CREATE INDEX approval_args ON approval (answered_at) WHERE args IS NOT NULL`,
]

const usageTables = ({ integer, text, keyed }: Dialect): string[] => {
  const sums = `steps ${integer} NOT NULL, unpriced_steps ${integer} NOT NULL, input_tokens ${integer} NOT NULL,
    output_tokens ${integer} NOT NULL, cached_input_tokens ${integer} NOT NULL, cache_write_tokens ${integer} NOT NULL,
    reasoning_tokens ${integer} NOT NULL, cost_nano_usd ${integer} NOT NULL`
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
    `CREATE TABLE budget_usage (
      scope ${text} NOT NULL, at ${integer} NOT NULL, source ${text} NOT NULL, runs ${integer} NOT NULL,
      tokens ${integer} NOT NULL, nano_usd ${integer} NOT NULL,
      PRIMARY KEY (scope, at, source)
    )${keyed}`,
  ]
}

const otherTables = ({ sequence, integer, text, random, table, keyed }: Dialect): string[] => [
  // One row, which tells this store from all others. A backup keeps it; a copy into another store does not.
  `CREATE TABLE identity (id ${text} NOT NULL)${table}`,
  `INSERT INTO identity (id) VALUES (${random})`,

  `CREATE TABLE schedule (
    seq ${sequence}, id ${text} NOT NULL UNIQUE, agent_id ${text} NOT NULL, name ${text} NOT NULL,
    next_at ${integer} NOT NULL, last_at ${integer}, created_at ${integer} NOT NULL, timing ${text} NOT NULL,
    spec ${text} NOT NULL
  )${table}`,
  `CREATE INDEX schedule_due ON schedule (next_at)`,
  `CREATE INDEX schedule_of_agent ON schedule (agent_id, seq)`,

  `CREATE TABLE audit (
    seq ${sequence}, at ${integer} NOT NULL, actor_kind ${text} NOT NULL, actor ${text} NOT NULL, run_id ${text},
    via ${text} NOT NULL, address ${text}, action ${text} NOT NULL, target ${text}, agent_id ${text},
    outcome ${text} NOT NULL, reason ${text}
  )${table}`,

  `CREATE TABLE state (
    owner ${text} NOT NULL, key ${text} NOT NULL, value ${text} NOT NULL,
    PRIMARY KEY (owner, key)
  )${keyed}`,

  `CREATE TABLE lease (
    name ${text} NOT NULL PRIMARY KEY, owner ${text} NOT NULL, fencing_token ${integer} NOT NULL,
    until ${integer} NOT NULL
  )${keyed}`,
]

/** Where texts came from. What has no provenance counts as text from outside. */
const provenance = ({ integer, text }: Dialect): string[] => [
  `ALTER TABLE event ADD COLUMN provenance ${text}`,
  `ALTER TABLE transcript ADD COLUMN provenance ${text}`,
  `ALTER TABLE route ADD COLUMN sender ${text}`,
  `ALTER TABLE exposure ADD COLUMN provenance ${text}`,
  `ALTER TABLE exposure DROP COLUMN from_start`,
  `ALTER TABLE approval ADD COLUMN asked_by ${text}`,
  `ALTER TABLE approval ADD COLUMN is_narrowed ${integer} NOT NULL DEFAULT 0`,
  `ALTER TABLE approval ADD COLUMN for_turn ${integer} NOT NULL DEFAULT 0`,
]

/** In order. A released migration never changes; a later one corrects it. */
export const migrations: readonly Migration[] = [
  { name: '001-first-tables', statements: firstTables },
  { name: '002-provenance', statements: provenance },
]

/** The version of the tables that this program works with. */
export const newestVersion = migrations.length
