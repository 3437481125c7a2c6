// The preset for Prometheus Alertmanager: one message per group of alerts, one session per kind of alert.
import { Alert, countAlerts, labelOf, Labels, line, lines, listAlerts, Maybe } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())

const Payload = Type.Object({
  groupKey: Text,
  receiver: Text,
  groupLabels: Labels,
  commonLabels: Labels,
  externalURL: Text,
  truncatedAlerts: Maybe(Type.Number()),
  alerts: Type.Array(Alert),
})
type Payload = Static<typeof Payload>

export default definePreset<Payload>({
  name: 'alertmanager',
  description: 'Alerts of Prometheus, as Alertmanager groups them.',
  payload: Payload,
  mapping: { name: 'Alertmanager' },
  // The payload identifies a group, not a notification.
  deliveryId: ({ payload }) => ({
    subject: `${payload.receiver ?? ''} ${payload.groupKey ?? nameOf(payload)}`,
    content: JSON.stringify(payload),
  }),
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

function toAction({ payload }: PresetRequest<Payload>) {
  const { alerts, truncatedAlerts, externalURL } = payload
  if (alerts.length === 0) return null
  const name = nameOf(payload)
  const message = lines(
    `Alertmanager: ${name}, ${countAlerts(alerts)}`,
    listAlerts(alerts, truncatedAlerts ?? 0),
    line(externalURL, 500),
  )
  return { message, sessionKey: `hook:alertmanager:${name}` }
}

const nameOf = ({ commonLabels, groupLabels, receiver, alerts }: Payload): string =>
  [commonLabels, groupLabels, alerts[0]?.labels].map((labels) => labelOf(labels, 'alertname')).find(Boolean) ||
  line(receiver, 200) ||
  'alerts'
