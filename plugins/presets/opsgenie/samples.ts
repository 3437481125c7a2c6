// Samples of Opsgenie's webhooks: a new alert, a note, and the end of an alert.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ now }: SampleSeed): SampleRequest[] => {
  const event = (action: string, more: Readonly<Record<string, string>> = {}) => ({
    action,
    source: { name: 'Prometheus', type: 'web' },
    integrationName: 'Gateway',
    integrationId: 'i1',
    alert: { ...alert, updatedAt: Date.parse(now) * 1_000_000, ...more },
  })
  return [
    { name: 'alert-created', payload: event('Create') },
    { name: 'note-added', payload: event('AddNote', { note: 'The logs are too big.' }) },
    { name: 'alert-closed', payload: event('Close') },
  ]
}

const alert = {
  alertId: '052652ac-5d1c-464a-812a-7dd18bbfba8c',
  alias: 'disk-db1',
  tinyId: '23',
  message: 'The disk of db1 is full',
  description: '97% are used.',
  username: 'ada@example.com',
  entity: 'db1',
  priority: 'P1',
  tags: ['db'],
  source: 'Prometheus',
  createdAt: 1_900_000_000_000,
}
