// The index of the events of a request whose texts are not in its body: those that a mapping rendered.
export const eventRequest = (): string[] => [
  'CREATE INDEX event_of_request ON event (request_id) WHERE request_id IS NOT NULL AND text IS NOT NULL',
]
