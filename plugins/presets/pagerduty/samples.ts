// Samples of PagerDuty's webhooks: a new incident, a note, and the end of an incident.
import type { Json, SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => {
  const event = (type: string, data: Json) => ({
    event: {
      id,
      event_type: `incident.${type}`,
      resource_type: 'incident',
      occurred_at: now,
      agent: { id: 'PLH1HKV', summary: 'Ada Lovelace' },
      client: null,
      data,
    },
  })
  const note = {
    id: 'PWL7QXS',
    type: 'incident_note',
    content: 'The disk was full.',
    trimmed: false,
    incident: { id: incident.id, summary: incident.title, html_url: incident.html_url },
  }
  return [
    { name: 'incident-triggered', payload: event('triggered', incident) },
    { name: 'incident-annotated', payload: event('annotated', note) },
    { name: 'incident-resolved', payload: event('resolved', { ...incident, status: 'resolved' }) },
  ]
}

const incident = {
  id: 'PGR0VU2',
  type: 'incident',
  self: 'https://api.pagerduty.com/incidents/PGR0VU2',
  html_url: 'https://acme.pagerduty.com/incidents/PGR0VU2',
  number: 42,
  status: 'triggered',
  title: 'The shop is down',
  urgency: 'high',
  service: { id: 'PF9KMXH', summary: 'Shop', html_url: 'https://acme.pagerduty.com/services/PF9KMXH' },
  assignees: [{ id: 'PLH1HKV', summary: 'Ada Lovelace' }],
  priority: { summary: 'P1' },
}
