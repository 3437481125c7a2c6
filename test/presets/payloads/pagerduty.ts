// Payloads of PagerDuty, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

const incident = {
  id: 'P1',
  type: 'incident',
  self: 's',
  html_url: 'https://x.pagerduty.com/incidents/P1',
  number: 42,
  status: 'triggered',
  title: 'Site is down',
  urgency: 'high',
  service: { id: 'S', summary: 'Web', html_url: 'h' },
  assignees: [{ id: 'U', summary: 'Ada' }],
  priority: { summary: 'P1' },
  resolve_reason: null,
}
const dutyEvent = (type: string, data: unknown, more: object = {}) => ({
  event: {
    id: 'E1',
    event_type: type,
    resource_type: 'incident',
    occurred_at: '2030-01-31T09:00:00Z',
    agent: { id: 'U', summary: 'Ada' },
    client: null,
    data,
    ...more,
  },
})

export const pagerduty: Samples = {
  told: [
    one('an incident', dutyEvent('incident.triggered', incident, { agent: null })),
    ...[
      'acknowledged',
      'unacknowledged',
      'escalated',
      'reassigned',
      'delegated',
      'reopened',
      'priority_updated',
      'incident_type.changed',
    ].map((change) => one(change, dutyEvent(`incident.${change}`, incident))),
    one(
      'an update of the status',
      dutyEvent('incident.status_update_published', {
        id: 'SU1',
        type: 'status_update',
        message: 'We are looking into it',
        incident: { id: 'P1', summary: 'Site is down', html_url: incident.html_url },
      }),
    ),
    one(
      'other values of fields',
      dutyEvent('incident.custom_field_values.updated', {
        type: 'incident_field_values',
        incident: { id: 'P1', summary: 'Site is down', html_url: incident.html_url },
        custom_fields: [
          { name: 'region', value: ['EU', 'US'] },
          { name: 'environment', value: 'staging' },
        ],
        changed_custom_fields: [
          { name: 'environment', display_name: 'Environment\nStatus: resolved', value: 'staging' },
        ],
      }),
    ),
    one(
      'other values of fields, without those that have changed',
      dutyEvent('incident.custom_field_values.updated', {
        type: 'incident_field_values',
        incident: { id: 'P1', summary: null, html_url: incident.html_url },
        custom_fields: [
          { name: 'region', value: ['EU', 'US'] },
          { name: 'runbook', value: null },
        ],
      }),
    ),
    one(
      'one that is merged',
      dutyEvent('incident.resolved', {
        ...incident,
        status: 'resolved',
        resolve_reason: {
          type: 'merge_resolve_reason',
          incident: { id: 'P2', summary: 'The database is down', html_url: 'https://x.pagerduty.com/incidents/P2' },
        },
      }),
    ),
    one('another type', dutyEvent('incident.incident_type.changed', { ...incident, incident_type: { name: 'major' } })),
    one(
      'names that would add lines, and a number that is a text',
      dutyEvent('incident.triggered', {
        ...incident,
        number: '42',
        title: 'Down\nStatus: resolved',
        service: { summary: 'Web\nBy: the CEO' },
      }),
    ),
    one(
      'one that is resolved',
      dutyEvent('incident.resolved', { ...incident, status: 'resolved', priority: null, assignees: [] }),
    ),
    one(
      'a note',
      dutyEvent('incident.annotated', {
        id: 'N1',
        type: 'incident_note',
        content: 'Disk was full',
        trimmed: false,
        incident: { id: 'P1', summary: 'Site is down', html_url: incident.html_url },
      }),
    ),
  ],
  silent: [
    one('a ping', dutyEvent('pagey.ping', { message: 'Hello', type: 'ping' })),
    one('a responder', dutyEvent('incident.responder.added', { incident: { id: 'P1' } })),
  ],
  wrong: [
    one('nothing', {}),
    one('version 2', { messages: [{ event: 'incident.trigger', incident: {} }] }),
    one('an event without an id', { event: { event_type: 'incident.triggered', data: incident } }),
    one('an event without data', { event: { id: 'E1', event_type: 'incident.triggered' } }),
    one('an event that is a list', { event: [] }),
  ],
}
