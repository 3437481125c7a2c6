// Schedules: work that begins by itself at set times.
import type { Dialect } from '../schema.ts'

export const schedules = ({ sequence, integer, table }: Dialect): string[] => [
  `CREATE TABLE schedule (
    seq ${sequence}, id TEXT NOT NULL UNIQUE, agent_id TEXT NOT NULL, name TEXT NOT NULL, timing TEXT NOT NULL, spec TEXT NOT NULL,
    next_at ${integer} NOT NULL, last_at ${integer}, created_at ${integer} NOT NULL
  )${table}`,
  `CREATE INDEX schedule_due ON schedule (next_at)`,
  `CREATE INDEX schedule_of_agent ON schedule (agent_id, seq)`,
]
