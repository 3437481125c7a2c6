// Retries: runs that are tried again later, and the idempotency keys that failed runs release.
import type { Dialect } from './dialect.ts'

export const runRetries = ({ integer, text }: Dialect): string[] => [
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
