// The preset for Grafana: notifications of its alerting, also of versions before 8; one session per rule.
import { hash } from 'node:crypto'
import { clip, definePreset, lines, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const Labels = Type.Optional(Type.Record(Type.String(), Type.Unknown()))

const Alert = Type.Object({
  status: Text,
  labels: Labels,
  annotations: Labels,
  valueString: Text,
  startsAt: Text,
  endsAt: Text,
  generatorURL: Text,
  silenceURL: Text,
  dashboardURL: Text,
  panelURL: Text,
})

const Payload = Type.Object({
  title: Type.String({ minLength: 1 }),
  message: Text,
  state: Text,
  status: Text,
  receiver: Text,
  externalURL: Text,
  groupLabels: Labels,
  commonLabels: Labels,
  alerts: Type.Optional(Type.Array(Alert)),
  truncatedAlerts: Type.Optional(Type.Number()),
  // Before version 8:
  ruleName: Text,
  ruleUrl: Text,
  evalMatches: Type.Optional(
    Type.Union([
      Type.Array(Type.Object({ metric: Text, value: Type.Optional(Type.Union([Type.Number(), Type.Null()])) })),
      Type.Null(),
    ]),
  ),
})
type Payload = Static<typeof Payload>
type Alert = Static<typeof Alert>

export default definePreset<Payload>({
  name: 'grafana',
  description: "Notifications of Grafana's alerting.",
  payload: Payload,
  mapping: { name: 'Grafana' },
  // The payload identifies a group, not a notification, so the id is a hash of the whole payload.
  deliveryId: ({ payload }) => hash('sha256', JSON.stringify(payload)),
  toAction,
})

const mostAlerts = 20

function toAction({ payload }: PresetRequest<Payload>) {
  const { title, alerts = [], truncatedAlerts = 0, evalMatches, message, ruleUrl, externalURL, state, status } = payload
  const shown = alerts.slice(0, mostAlerts)
  const hidden = alerts.length - shown.length + truncatedAlerts
  const text = lines(
    `Grafana: ${clip(title, 300)}`,
    `State: ${state ?? status ?? 'unknown'}`,
    ...shown.map(alertText),
    hidden > 0 && `… and ${hidden} more`,
    ...(evalMatches ?? []).map(({ metric, value }) => `- ${metric ?? 'value'}: ${value ?? 'none'}`),
    // With alerts, the message would only repeat them.
    alerts.length === 0 && clip(message),
    ruleUrl ?? externalURL,
  )
  return { message: text, sessionKey: `hook:grafana:${nameOf(payload)}` }
}

function nameOf({ ruleName, commonLabels, groupLabels, alerts, title }: Payload): string {
  const labelled = [commonLabels, groupLabels, alerts?.[0]?.labels]
    .map((labels) => labels?.['alertname'])
    .find((name) => typeof name === 'string')
  return clip(ruleName ?? labelled ?? title, 200)
}

function alertText({ status, labels, annotations, valueString, startsAt, endsAt, ...links }: Alert): string {
  const time = status === 'resolved' ? endsAt && `until ${endsAt}` : startsAt && `since ${startsAt}`
  const where = pairs(labels, '=').filter((pair) => !pair.startsWith('alertname='))
  return lines(
    ['-', `${status ?? 'alert'}:`, labels?.['alertname'], where.length > 0 && `(${where.join(' ')})`, time]
      .filter(Boolean)
      .join(' '),
    valueString && `  values: ${clip(valueString, 300)}`,
    ...pairs(annotations, ': ').map((pair) => `  ${pair}`),
    (links.panelURL || links.dashboardURL || links.generatorURL) &&
      `  ${links.panelURL || links.dashboardURL || links.generatorURL}`,
    links.silenceURL && `  to silence it: ${links.silenceURL}`,
  )
}

const pairs = (labels: Alert['labels'], mark: string): string[] =>
  Object.entries(labels ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' && value !== '' ? [`${name}${mark}${clip(value, 500)}`] : [],
  )
