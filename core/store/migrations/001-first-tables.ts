// The first tables. Times are milliseconds since 1970 and JSON is text. Partial indexes hold only live rows.
import type { Dialect } from './dialect.ts'

export const firstTables = ({ sequence, integer, text, table, keyed }: Dialect): string[] => [
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
