// Samples of Alertmanager's webhooks: an alert that fires, and its end.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ now }: SampleSeed): SampleRequest[] => [
  { name: 'firing', payload: group('firing', { status: 'firing', startsAt: now, endsAt: '0001-01-01T00:00:00Z' }) },
  {
    name: 'resolved',
    payload: group('resolved', { status: 'resolved', startsAt: '2030-01-31T09:00:00Z', endsAt: now }),
  },
]

const group = (status: string, state: Readonly<Record<string, string>>) => ({
  version: '4',
  groupKey: '{}:{alertname="DiskFull"}',
  truncatedAlerts: 0,
  status,
  receiver: 'gateway',
  groupLabels: { alertname: 'DiskFull' },
  commonLabels: { alertname: 'DiskFull', instance: 'db1', severity: 'critical' },
  commonAnnotations: { summary: 'The disk of db1 is 97% full' },
  externalURL: 'https://alerts.example.com',
  alerts: [
    {
      ...state,
      labels: { alertname: 'DiskFull', instance: 'db1', severity: 'critical' },
      annotations: { summary: 'The disk of db1 is 97% full' },
      generatorURL: 'https://prometheus.example.com/graph?g0.expr=disk_used',
      fingerprint: 'c5d1f0a2b3e4d5c6',
    },
  ],
})
