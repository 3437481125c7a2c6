// Samples of Grafana's webhooks: a rule that fires, and its end.
import type { Json, SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ now }: SampleSeed): SampleRequest[] => [
  {
    name: 'firing',
    payload: notification('[FIRING:1] High latency', {
      status: 'firing',
      startsAt: now,
      endsAt: '0001-01-01T00:00:00Z',
      values: { A: 950 },
      valueString: "[ var='A' labels={service=shop} value=950 ]",
    }),
  },
  {
    name: 'resolved',
    payload: notification('[RESOLVED] High latency', {
      status: 'resolved',
      startsAt: '2030-01-31T09:00:00Z',
      endsAt: now,
    }),
  },
]

const notification = (title: string, alert: Readonly<Record<string, Json>> & { status: string }) => ({
  receiver: 'gateway',
  status: alert.status,
  orgId: 1,
  version: '1',
  groupKey: '{}:{alertname="High latency"}',
  truncatedAlerts: 0,
  title,
  state: alert.status === 'firing' ? 'alerting' : 'ok',
  message: '',
  externalURL: 'https://grafana.example.com/',
  groupLabels: { alertname: 'High latency' },
  commonLabels: { alertname: 'High latency', service: 'shop' },
  commonAnnotations: { summary: 'Requests of the shop take longer than 800 ms' },
  alerts: [
    {
      ...alert,
      labels: { alertname: 'High latency', service: 'shop' },
      annotations: { summary: 'Requests of the shop take longer than 800 ms' },
      generatorURL: 'https://grafana.example.com/alerting/grafana/latency/view',
      fingerprint: '57c6d9296de2ad39',
      dashboardURL: 'https://grafana.example.com/d/shop',
      panelURL: 'https://grafana.example.com/d/shop?viewPanel=2',
      silenceURL: 'https://grafana.example.com/alerting/silence/new',
    },
  ],
})
