// Events that wake a certain agent name it, and an index finds only those.
import type { Dialect } from './dialect.ts'

export const eventAgent = ({ text }: Dialect): string[] => [
  `ALTER TABLE event ADD COLUMN agent_id ${text}`,
  'CREATE INDEX event_of_agent ON event (agent_id, session_key, mode) WHERE agent_id IS NOT NULL AND run_id IS NULL',
]
