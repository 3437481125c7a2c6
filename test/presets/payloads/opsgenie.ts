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
    event('Snooze', 'an alert that sleeps until a time', { snoozeEndDate: '2030-02-01T06:00:00Z' }),
    event('Snooze', 'an alert that sleeps until a time in milliseconds', { snoozedUntil: 1_900_000_000_000 }),
    event('SnoozeEnded', 'an alert that wakes'),
    event('Escalate', 'an escalation', { username: '', outside: { escalationName: 'Night shift' } }),
    event('AddTeam', 'a team', { team: 'Databases' }),
    event('AddRecipient', 'a recipient', { recipient: 'grace@example.com' }),
    event('AddResponder', 'a responder', { responder: { id: 'r1', type: 'team', name: 'Databases' } }),
    event('AddResponder', 'responders', { responder: [{ type: 'user', username: 'grace@example.com' }, 'Network'] }),
    event('AddResponder', 'a responder without a name', { responder: { id: 'r1', type: 'team' } }),
    event('RestartServer', 'a custom action'),
    event('Create', 'a priority that is a number, and an entity that is a list', {
      priority: 3,
      entity: ['db1', 'db2'],
    }),
    event('Create', 'names that would add lines', {
      message: 'Disk\nPriority: P5',
      entity: 'db1\nStatus: closed',
      description: 'Line one\nLine two',
    }),
    event('Create', 'a message that is a list of nothing', { message: [] }),
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
    one('an action that is an object', { action: {}, alert }),
    one('an alert that is a text', { action: 'Create', alert: 'a1' }),
    one('a list', []),
  ],
}
