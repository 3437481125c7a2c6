// Events that wake an agent of their own: which agent it is, found without looking at the events that wait for nobody
// in particular.
export const eventAgent = (): string[] => [
  'ALTER TABLE event ADD COLUMN agent_id TEXT',
  'CREATE INDEX event_of_agent ON event (agent_id, session_key, mode) WHERE agent_id IS NOT NULL AND run_id IS NULL',
]
