// Payloads of Opsgenie, after its documentation of the webhook integration.
import { one, type Samples } from '../sample.ts'

const alert = {
  alertId: '052652ac-5d1c',
  alias: 'disk-db1',
  tinyId: '23',
  message: 'Disk of db1 is full',
  description: '97 % used.',
  username: 'ada@example.com',
  entity: 'db1',
  priority: 'P1',
  tags: ['db'],
  source: 'Prometheus',
  createdAt: 1_900_000_000_000,
  updatedAt: 1_900_000_000_002_000_000,
}
/** `outside`: fields of the payload itself, beside the alert. */
const event = (action: string, what: string, { outside, ...more }: { outside?: object; [key: string]: unknown } = {}) =>
  one(what, {
    action,
    source: { name: 'Prometheus', type: 'web' },
    integrationName: 'Gateway',
    integrationId: 'i1',
    alert: { ...alert, ...more },
    ...outside,
  })

export const opsgenie: Samples = {
  told: [
    event('Create', 'an alert'),
    event('Acknowledge', 'somebody who takes care'),
    event('UnAcknowledge', 'somebody who no longer does'),
    event('Close', 'the end of an alert'),
    event('Delete', 'a deleted alert'),
    event('AddNote', 'a note', { note: 'The logs are too big.' }),
    event('TakeOwnership', 'an owner'),
    event('AssignOwnership', 'another owner', { owner: 'grace@example.com' }),
    event('UpdatePriority', 'another priority', { oldPriority: 'P3' }),
    event('Snooze', 'an alert that sleeps'),
    event('SnoozeEnded', 'an alert that wakes'),
    event('Escalate', 'an escalation', { username: '', outside: { escalationName: 'Night shift' } }),
    event('AddTeam', 'a team', { team: 'Databases' }),
    event('AddRecipient', 'a recipient', { recipient: 'grace@example.com' }),
    event('RestartServer', 'a custom action'),
    one('an alert of which little is known', { action: 'Create', alert: { alertId: 'a1' } }),
  ],
  silent: [
    event('AddTags', 'a tag', { addedTags: 'x' }),
    event('RemoveTags', 'a removed tag', { removedTags: 'x' }),
    event('UpdateDescription', 'another description'),
    event('AddNote', 'a note of a program', { note: 'Done.', outside: { source: { name: '', type: 'API' } } }),
  ],
  wrong: [
    one('nothing', {}),
    one('no alert', { action: 'Create' }),
    one('an alert without an id', { action: 'Create', alert: { message: 'x' } }),
    one('an action that is a number', { action: 1, alert }),
    one('an alert that is a text', { action: 'Create', alert: 'a1' }),
    one('a message that is a list', { action: 'Create', alert: { ...alert, message: [] } }),
  ],
}
