// The preset for Grafana: notifications of its alerting, also of versions before 8; one session per rule.
import { hash } from 'node:crypto'
import { clip, lines, words } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const Labels = Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()]))

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
  alerts: Type.Optional(Type.Union([Type.Array(Alert), Type.Null()])),
  truncatedAlerts: Type.Optional(Type.Union([Type.Number(), Type.Null()])),
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
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

const mostAlerts = 20

function toAction({ payload }: PresetRequest<Payload>) {
  const { title, evalMatches, message, ruleUrl, externalURL } = payload
  const alerts = payload.alerts ?? []
  const hidden = Math.max(0, alerts.length - mostAlerts) + (payload.truncatedAlerts ?? 0)
  const state = stateOf(payload)
  const text = lines(
    `Grafana: ${clip(title, 300)}`,
    state && `State: ${state}`,
    ...alerts.slice(0, mostAlerts).map(alertText),
    hidden > 0 && `… and ${hidden} more`,
    ...(evalMatches ?? []).map(({ metric, value }) => `- ${metric || 'value'}: ${value ?? 'none'}`),
    // With alerts, the message would only repeat them.
    alerts.length === 0 && clip(message),
    ruleUrl || externalURL,
  )
  return { message: text, sessionKey: `hook:grafana:${nameOf(payload)}` }
}

/** `state` is a leftover of legacy alerting: it can be `alerting` although the alerts are resolved. */
function stateOf({ status, state, alerts }: Payload): string | undefined {
  const statuses = (alerts ?? []).map((alert) => alert.status)
  if (statuses.includes('firing')) return 'firing'
  if (statuses.length > 0 && statuses.every((each) => each === 'resolved')) return 'resolved'
  return status || state || undefined
}

function nameOf({ ruleName, commonLabels, groupLabels, alerts, title }: Payload): string {
  const labelled = [commonLabels, groupLabels, alerts?.[0]?.labels]
    .map((labels) => labels?.['alertname'])
    .find((name): name is string => typeof name === 'string' && name !== '')
  return clip(ruleName || labelled || title, 200)
}

function alertText({ status, labels, annotations, valueString, startsAt, endsAt, ...links }: Alert): string {
  const isOver = status === 'resolved'
  const time = isOver ? timeText('until', endsAt) : timeText('since', startsAt)
  const name = labels?.['alertname']
  const where = pairs(labels, '=').filter((pair) => !pair.startsWith('alertname='))
  const link = links.panelURL || links.dashboardURL || links.generatorURL
  return lines(
    words(
      `- ${status || 'alert'}:`,
      typeof name === 'string' && name,
      where.length > 0 && `(${where.join(' ')})`,
      time,
    ),
    valueString && `  values: ${clip(valueString, 300)}`,
    ...pairs(annotations, ': ').map((pair) => `  ${pair}`),
    link && `  ${link}`,
    !isOver && links.silenceURL && `  to silence it: ${links.silenceURL}`,
  )
}

/** Year 1 stands for a time that is not known. */
const timeText = (preposition: string, time: string | null | undefined): string =>
  time && !time.startsWith('0001-') ? `${preposition} ${time}` : ''

const pairs = (labels: Alert['labels'], mark: string): string[] =>
  Object.entries(labels ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' && value !== '' ? [`${name}${mark}${clip(value, 500)}`] : [],
  )
