// The preset for PagerDuty's webhooks, version 3: incidents and their progress; one session per incident.
import { Maybe, clip, lines, quote, words } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Reference = Maybe(Type.Object({ id: Text, summary: Text, html_url: Text }))

const Payload = Type.Object({
  event: Type.Object({
    id: Type.String({ minLength: 1 }),
    event_type: Type.String({ minLength: 1 }),
    occurred_at: Text,
    agent: Reference,
    data: Type.Object({
      id: Text,
      html_url: Text,
      number: Maybe(Type.Number()),
      status: Text,
      title: Text,
      urgency: Text,
      service: Reference,
      priority: Reference,
      assignees: Maybe(Type.Array(Type.Object({ summary: Text }))),
      resolve_reason: Type.Optional(Type.Unknown()),
      // In notes and status updates:
      content: Text,
      message: Text,
      incident: Reference,
    }),
  }),
})
type Payload = Static<typeof Payload>

export default definePreset<Payload>({
  name: 'pagerduty',
  description: 'Incidents of PagerDuty.',
  payload: Payload,
  mapping: { name: 'PagerDuty' },
  auth: { scheme: 'pagerduty' },
  deliveryId: ({ payload }) => payload.event.id,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

const silent =
  /^(?:pagey\.ping|incident\.(?:conference_bridge\..*|responder\..*|workflow\..*|service_updated)|service\..*)$/

function toAction({ payload: { event } }: PresetRequest<Payload>) {
  const { event_type: type, agent, data } = event
  if (silent.test(type)) return null
  const { incident, service, urgency, priority, assignees } = data
  const what = data.title ?? incident?.summary ?? ''
  const facts = [data.status, urgency && `${urgency} urgency`, priority?.summary && `priority ${priority.summary}`]
  const change = type.replace('incident.incident_', 'incident_').replaceAll(/[._]/g, ' ')
  const message = lines(
    words('PagerDuty:', change, data.number ? `#${data.number}` : '', quote(what)),
    service?.summary && `Service: ${service.summary}`,
    facts.some(Boolean) && `Status: ${facts.filter(Boolean).join(', ')}`,
    assignees?.length ? `Assigned to: ${assignees.map(({ summary }) => summary ?? 'somebody').join(', ')}` : undefined,
    agent?.summary && `By: ${agent.summary}`,
    data.html_url ?? incident?.html_url,
    (data.content || data.message) && `\n${clip(data.content || data.message)}`,
  )
  return { message, sessionKey: `hook:pagerduty:${incident?.id ?? data.id ?? 'incidents'}` }
}
