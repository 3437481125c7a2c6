// A Grafana alert notification: creates one message for the alerts that are firing, and skips resolved ones.
import { line, lines, type Static, type TransformInput, type TransformResult, Type, words } from 'svc-gateway/transform'

const Alert = Type.Object({
  status: Type.String(),
  labels: Type.Record(Type.String(), Type.String()),
  annotations: Type.Optional(Type.Record(Type.String(), Type.String())),
  generatorURL: Type.Optional(Type.String()),
})

export const payload = Type.Object({
  status: Type.Enum(['firing', 'resolved']),
  title: Type.Optional(Type.String()),
  groupKey: Type.String(),
  alerts: Type.Array(Alert, { maxItems: 500 }),
})

type Notification = Static<typeof payload>

export default function transform({ payload }: TransformInput<Notification>): TransformResult {
  const firing = payload.alerts.filter(({ status }) => status === 'firing')
  if (firing.length === 0) return null
  return {
    name: 'Grafana',
    message: lines(
      line(payload.title) || `${firing.length} alerts are firing`,
      ...firing.slice(0, 20).map(describe),
      firing.length > 20 && `… and ${firing.length - 20} more`,
      '\nFind out what is wrong and say what to do first.',
    ),
    idempotencyKey: `${payload.groupKey}:${firing.map(({ labels }) => labels['alertname']).join()}`.slice(0, 256),
  }
}

function describe({ labels, annotations = {}, generatorURL }: Notification['alerts'][number]): string {
  const what = line(annotations['summary'] ?? annotations['description']) || 'no summary'
  const alert = `${line(labels['alertname']) || 'alert'} (${line(labels['severity']) || 'no severity'})`
  return words(`- ${alert}: ${what}`, line(generatorURL))
}
