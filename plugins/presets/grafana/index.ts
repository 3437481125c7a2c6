// The preset for Grafana: notifications of its alerting, also of versions before 8; one session per rule, or per group of alerts.
import { Alert, alertGroup, labelOf, Labels, line, lines, listAlerts, Maybe, clip } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())

const Payload = Type.Object({
  title: Text,
  message: Text,
  state: Text,
  status: Text,
  groupKey: Text,
  receiver: Text,
  externalURL: Text,
  groupLabels: Labels,
  commonLabels: Labels,
  alerts: Maybe(Type.Array(Alert)),
  truncatedAlerts: Maybe(Type.Number()),
  // Before version 8:
  ruleId: Maybe(Type.Union([Type.String(), Type.Number()])),
  ruleName: Text,
  ruleUrl: Text,
  evalMatches: Maybe(
    Type.Array(Type.Object({ metric: Text, value: Maybe(Type.Union([Type.String(), Type.Number()])) })),
  ),
})
type Payload = Static<typeof Payload>

export default definePreset<Payload>({
  name: 'grafana',
  description: "Notifications of Grafana's alerting.",
  payload: Payload,
  mapping: { name: 'Grafana' },
  // The payload identifies a group or a rule, not a notification.
  deliveryId: ({ payload }) => ({ subject: subjectOf(payload), content: JSON.stringify(payload) }),
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

const mostMatches = 20

function toAction({ payload }: PresetRequest<Payload>) {
  const { message, ruleUrl, externalURL, truncatedAlerts } = payload
  const alerts = payload.alerts ?? []
  const title = line(payload.title) || nameOf(payload)
  if (!title && alerts.length === 0)
    throw new InputError('title or alerts is required; send the default payload of a contact point.')
  const matches = payload.evalMatches ?? []
  const hidden = matches.length - mostMatches
  const state = stateOf(payload)
  const text = lines(
    `Grafana: ${title || 'alerts'}`,
    state && `State: ${state}`,
    listAlerts(alerts, truncatedAlerts ?? 0),
    ...matches.slice(0, mostMatches).map(({ metric, value }) => {
      return `- ${line(metric, 200) || 'value'}: ${line(String(value ?? 'none'), 100)}`
    }),
    hidden > 0 && `… and ${hidden} more`,
    line(ruleUrl || externalURL, 500),
    // With alerts, the message would only repeat them.
    alerts.length === 0 && message && `\n${clip(message)}`,
  )
  return { message: text, sessionKey: `hook:grafana:${groupOf(payload) || 'alerts'}` }
}

/** `state` is a leftover of legacy alerting: it can be `alerting` although the alerts are resolved. */
function stateOf({ status, state, alerts }: Payload): string {
  const statuses = (alerts ?? []).map((alert) => alert.status)
  if (statuses.includes('firing')) return 'firing'
  if (statuses.length > 0 && statuses.every((each) => each === 'resolved')) return 'resolved'
  return line(status || state, 50)
}

/** An alert about missing data or an error of a rule has a name of its own, and the rule's in the label `rulename`. */
function nameOf({ ruleName, commonLabels, groupLabels, alerts, title }: Payload): string {
  const labelled = [commonLabels, groupLabels, alerts?.[0]?.labels]
    .map((labels) => labelOf(labels, 'rulename') || labelOf(labels, 'alertname'))
    .find(Boolean)
  return line(ruleName, 200) || labelled || line(title, 200)
}

/**
 * What all notifications of a group have in common. A group of alerts about missing data may be about several rules.
 */
function groupOf(payload: Payload): string {
  const { ruleName, groupLabels, groupKey } = payload
  const isAboutData = /^Datasource(?:NoData|Error)$/.test(labelOf(groupLabels, 'alertname'))
  const names = isAboutData && groupKey ? ['rulename'] : ['rulename', 'alertname']
  return line(ruleName, 200) || alertGroup({ groupKey, groupLabels }, names) || nameOf(payload)
}

/** What the states of one rule have in common. A title begins with the state, as in `[OK] Load`. */
const subjectOf = (payload: Payload): string =>
  JSON.stringify([
    payload.receiver,
    payload.groupKey ?? payload.ruleId ?? payload.ruleName ?? nameOf(payload).replace(/^\[[^\]]*\]/, ''),
  ])
