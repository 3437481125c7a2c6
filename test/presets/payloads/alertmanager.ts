// Payloads of Alertmanager, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

export const alert = (more: object = {}) => ({
  status: 'firing',
  labels: { alertname: 'DiskFull', instance: 'db1', severity: 'critical' },
  annotations: { summary: 'Disk of db1 is full' },
  startsAt: '2030-01-31T09:00:00Z',
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://prom.example.com/graph?g0',
  fingerprint: 'c5d',
  ...more,
})
export const group = (more: object = {}) => ({
  version: '4',
  groupKey: '{}:{alertname="DiskFull"}',
  truncatedAlerts: 0,
  status: 'firing',
  receiver: 'gateway',
  groupLabels: { alertname: 'DiskFull' },
  commonLabels: { alertname: 'DiskFull' },
  commonAnnotations: {},
  externalURL: 'http://alerts.example.com',
  alerts: [alert()],
  ...more,
})

export const alertmanager: Samples = {
  told: [
    one('one that fires', group()),
    one(
      'one that is over',
      group({ status: 'resolved', alerts: [alert({ status: 'resolved', endsAt: '2030-01-31T10:00:00Z' })] }),
    ),
    one(
      'one that is over since an unknown time',
      group({ status: 'resolved', alerts: [alert({ status: 'resolved' })] }),
    ),
    one(
      'several, some of them over',
      group({
        alerts: [
          alert(),
          alert({
            status: 'resolved',
            endsAt: '2030-01-31T10:00:00Z',
            labels: { alertname: 'DiskFull', instance: 'db2' },
          }),
        ],
      }),
    ),
    one(
      'more than are shown',
      group({
        truncatedAlerts: 3,
        alerts: Array.from({ length: 25 }, () => alert({ annotations: {}, generatorURL: '' })),
      }),
    ),
    one('one whose labels would add lines, with another status and a version that is a number', {
      ...group({ version: 4, status: 'pending' }),
      alerts: [
        alert({
          labels: { alertname: 'DiskFull\nStatus: resolved', instance: 'db1\u202e', replica: 2 },
          annotations: { summary: 'full\n- resolved: DiskFull', runbook: 'x'.repeat(700) },
        }),
      ],
    }),
    one('one without labels', group({ commonLabels: {}, groupLabels: {}, alerts: [{ status: 'firing' }] })),
    one(
      'thirty large ones, of which the last fires',
      group({
        alerts: Array.from({ length: 30 }, (_, n) =>
          alert({
            status: n === 29 ? 'firing' : 'resolved',
            labels: { alertname: 'DiskFull', instance: `db${n}` },
            annotations: Object.fromEntries(Array.from({ length: 12 }, (__, m) => [`note${m}`, 'y'.repeat(300)])),
          }),
        ),
      }),
    ),
    one('an older version', {
      ...group({ version: '3', groupKey: 123 }),
      commonLabels: {},
      groupLabels: {},
      alerts: [alert({ labels: { job: 'node' } })],
    }),
  ],
  silent: [one('none', group({ alerts: [] }))],
  wrong: [
    one('nothing', {}),
    one('no alerts', { ...group(), alerts: undefined }),
    one('alerts that are none', group({ alerts: {} })),
    one('alerts that are a number', group({ alerts: 1 })),
    one('a list', [group()]),
  ],
}
