// The preset for Prometheus Alertmanager: one message per group of alerts, one session per name of alerts, or per group.
import {
  Alert,
  alertGroup,
  alertNames,
  countAlerts,
  labelOf,
  Labels,
  line,
  lines,
  listAlerts,
  Maybe,
} from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())

const Payload = Type.Object({
  groupKey: Text,
  receiver: Text,
  groupLabels: Labels,
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
    subject: `${payload.receiver ?? ''} ${payload.groupKey ?? groupOf(payload)}`,
    content: JSON.stringify(payload),
  }),
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

function toAction({ payload }: PresetRequest<Payload>) {
  const { alerts, receiver, groupLabels, externalURL } = payload
  const unsent = payload.truncatedAlerts ?? 0
  if (alerts.length === 0) return null
  const message = lines(
    `Alertmanager: ${alertNames(alerts) || labelOf(groupLabels, 'alertname') || line(receiver, 200) || 'alerts'}, ${countAlerts(alerts, unsent)}`,
    listAlerts(alerts, unsent),
    line(externalURL, 500),
  )
  return { message, sessionKey: `hook:alertmanager:${groupOf(payload)}` }
}

const groupOf = (payload: Payload): string =>
  alertGroup(payload) || alertNames(payload.alerts) || line(payload.receiver, 200) || 'alerts'
