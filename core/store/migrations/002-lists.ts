// What became of a request joins the log of deliveries; indexes for the lists that the control API shows.
import type { Dialect } from '../schema.ts'

/** The new columns stand before the body, which may be long: a list that does not show it does not read it. */
export const lists = ({ sequence, integer, table }: Dialect): string[] => [
  `CREATE TABLE delivery_log (
    seq ${sequence}, id TEXT NOT NULL UNIQUE, at ${integer} NOT NULL, hook TEXT NOT NULL, client TEXT NOT NULL,
    status TEXT NOT NULL, result TEXT NOT NULL, headers TEXT NOT NULL, body TEXT
  )${table}`,
  `INSERT INTO delivery_log (seq, id, at, hook, client, status, result, headers, body)
    SELECT seq, id, at, hook, client, 'accepted', '{}', headers, body FROM delivery`,
  `DROP TABLE delivery`,
  `ALTER TABLE delivery_log RENAME TO delivery`,
  `CREATE INDEX delivery_of_hook ON delivery (hook, seq)`,
  `CREATE INDEX delivery_other ON delivery (status, seq) WHERE status <> 'accepted'`,

  `CREATE INDEX run_of_session ON run (session_key, seq)`,
  `CREATE INDEX run_unsuccessful ON run (status, seq) WHERE status IN ('failed', 'timed_out', 'cancelled')`,
  `CREATE INDEX message_unsent ON message (status, seq) WHERE status <> 'sent'`,
]
