// The preset for Prometheus Alertmanager: one message per group of alerts, one session per kind of alert.
import { hash } from 'node:crypto'
import { clip, definePreset, lines, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Labels = Type.Record(Type.String(), Type.String())

const Alert = Type.Object({
  status: Type.Enum(['firing', 'resolved']),
  labels: Labels,
  annotations: Type.Optional(Labels),
  startsAt: Type.Optional(Type.String()),
  endsAt: Type.Optional(Type.String()),
  generatorURL: Type.Optional(Type.String()),
  fingerprint: Type.Optional(Type.String()),
})

const Payload = Type.Object({
  version: Type.Optional(Type.String()),
  groupKey: Type.Optional(Type.Union([Type.String(), Type.Number()])),
  status: Type.Enum(['firing', 'resolved']),
  receiver: Type.Optional(Type.String()),
  groupLabels: Type.Optional(Labels),
  commonLabels: Type.Optional(Labels),
  commonAnnotations: Type.Optional(Labels),
  externalURL: Type.Optional(Type.String()),
  truncatedAlerts: Type.Optional(Type.Number()),
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
})

const mostAlerts = 20

function toAction({ payload }: PresetRequest<Payload>) {
  const { alerts, status, truncatedAlerts = 0, externalURL } = payload
  if (alerts.length === 0) return null
  const firing = alerts.filter((alert) => alert.status === 'firing').length
  const count = status === 'firing' ? `${firing} firing` : `${alerts.length} resolved`
  const hidden = alerts.length - mostAlerts + truncatedAlerts
  const message = lines(
    `Alertmanager: ${nameOf(payload)}, ${count}`,
    ...alerts.slice(0, mostAlerts).map(alertText),
    alerts.length > mostAlerts || truncatedAlerts > 0 ? `… and ${Math.max(hidden, truncatedAlerts)} more` : undefined,
    externalURL,
  )
  return { message, sessionKey: `hook:alertmanager:${nameOf(payload)}` }
}

const nameOf = ({ commonLabels, groupLabels, receiver, alerts }: Payload): string =>
  clip(
    commonLabels?.['alertname'] ?? groupLabels?.['alertname'] ?? alerts[0]?.labels['alertname'] ?? receiver ?? 'alerts',
    200,
  )

function alertText({ status, labels, annotations = {}, startsAt, endsAt, generatorURL }: Alert): string {
  const where = Object.entries(labels)
    .filter(([name]) => name !== 'alertname')
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
  const time = status === 'firing' ? startsAt && `since ${startsAt}` : endsAt && `until ${endsAt}`
  return lines(
    `- ${status}: ${[labels['alertname'], where && `(${where})`, time].filter(Boolean).join(' ')}`,
    ...Object.entries(annotations).map(([name, value]) => `  ${name}: ${clip(value, 500)}`),
    generatorURL && `  ${generatorURL}`,
  )
}
