// Events that wake a certain agent name it, and an index finds only those.
export const eventAgent = (): string[] => [
  'ALTER TABLE event ADD COLUMN agent_id TEXT',
  'CREATE INDEX event_of_agent ON event (agent_id, session_key, mode) WHERE agent_id IS NOT NULL AND run_id IS NULL',
]
