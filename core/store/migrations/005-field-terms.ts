// Renames tables, columns, indexes and keys of stored JSON to the terms that the rest of the code uses.

export const useFieldTerms = (): string[] => [
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
