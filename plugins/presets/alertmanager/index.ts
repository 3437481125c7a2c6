// The preset for Prometheus Alertmanager: one message per group of alerts, one session per kind of alert.
import { hash } from 'node:crypto'
import { Maybe, clip, lines, words } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Labels = Type.Record(Type.String(), Type.String())

const Alert = Type.Object({
  status: Type.Enum(['firing', 'resolved']),
  labels: Labels,
  annotations: Maybe(Labels),
  startsAt: Text,
  endsAt: Text,
  generatorURL: Text,
  fingerprint: Text,
})

const Payload = Type.Object({
  version: Text,
  groupKey: Type.Optional(Type.Union([Type.String(), Type.Number()])),
  status: Type.Enum(['firing', 'resolved']),
  receiver: Text,
  groupLabels: Maybe(Labels),
  commonLabels: Maybe(Labels),
  commonAnnotations: Maybe(Labels),
  externalURL: Text,
  truncatedAlerts: Maybe(Type.Number()),
  alerts: Type.Array(Alert),
})
type Payload = Static<typeof Payload>
type Alert = Static<typeof Alert>

export default definePreset<Payload>({
  name: 'alertmanager',
  description: 'Alerts of Prometheus, as Alertmanager groups them.',
  payload: Payload,
  mapping: { name: 'Alertmanager' },
  // The payload identifies a group, not a notification, so the id is a hash of the whole payload.
  deliveryId: ({ payload }) => hash('sha256', JSON.stringify(payload)),
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

const mostAlerts = 20

function toAction({ payload }: PresetRequest<Payload>) {
  const { alerts, status, externalURL } = payload
  if (alerts.length === 0) return null
  const firing = alerts.filter((alert) => alert.status === 'firing').length
  const count = status === 'firing' ? `${firing} firing` : `${alerts.length} resolved`
  const hidden = Math.max(0, alerts.length - mostAlerts) + (payload.truncatedAlerts ?? 0)
  const message = lines(
    `Alertmanager: ${nameOf(payload)}, ${count}`,
    ...alerts.slice(0, mostAlerts).map(alertText),
    hidden > 0 && `… and ${hidden} more`,
    externalURL,
  )
  return { message, sessionKey: `hook:alertmanager:${nameOf(payload)}` }
}

const nameOf = ({ commonLabels, groupLabels, receiver, alerts }: Payload): string =>
  clip(
    commonLabels?.['alertname'] || groupLabels?.['alertname'] || alerts[0]?.labels['alertname'] || receiver || 'alerts',
    200,
  )

function alertText({ status, labels, annotations, startsAt, endsAt, generatorURL }: Alert): string {
  const where = Object.entries(labels)
    .filter(([name]) => name !== 'alertname')
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
  const time = status === 'firing' ? timeText('since', startsAt) : timeText('until', endsAt)
  return lines(
    words(`- ${status}:`, labels['alertname'], where && `(${where})`, time),
    ...Object.entries(annotations ?? {}).map(([name, value]) => `  ${name}: ${clip(value, 500)}`),
    generatorURL && `  ${generatorURL}`,
  )
}

/** Year 1 stands for a time that is not known. */
const timeText = (preposition: string, time: string | null | undefined): string =>
  time && !time.startsWith('0001-') ? `${preposition} ${time}` : ''
