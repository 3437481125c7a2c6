// The preset for PagerDuty's webhooks, version 3: incidents and their progress; one session per incident.
import { eventMessage, line, Maybe, quote, words } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'
import { scheme } from './scheme.ts'

const Text = Maybe(Type.String())
const Reference = Maybe(Type.Object({ id: Text, summary: Text, html_url: Text }))
const CustomFields = Maybe(
  Type.Array(Type.Object({ name: Text, display_name: Text, value: Type.Optional(Type.Unknown()) })),
)

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
      resolve_reason: Maybe(Type.Object({ type: Text, incident: Reference })),
      incident_type: Maybe(Type.Object({ name: Text })),
      // In notes, status updates and changes of custom fields:
      content: Text,
      message: Text,
      incident: Reference,
      custom_fields: CustomFields,
      changed_custom_fields: CustomFields,
    }),
  }),
})
type Payload = Static<typeof Payload>
type Data = Payload['event']['data']

const preset = definePreset<Payload>({
  name: 'pagerduty',
  description: 'Incidents of PagerDuty.',
  payload: Payload,
  mapping: { name: 'PagerDuty' },
  auth: { scheme: 'pagerduty' },
  deliveryId: ({ payload }) => payload.event.id,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

const silent =
  /^(?:pagey\.ping|incident\.(?:conference_bridge\..*|responder\..*|workflow\..*|service_updated)|service\..*)$/

function toAction({ payload: { event } }: PresetRequest<Payload>) {
  const { event_type: type, agent, data, occurred_at: at } = event
  if (silent.test(type)) return null
  const { incident, service, urgency, priority } = data
  const facts = [data.status, urgency && `${urgency} urgency`, priority?.summary && `priority ${priority.summary}`]
  const change = line(type, 100).replace('incident.incident_', 'incident_').replaceAll(/[._]/g, ' ')
  const merged = data.resolve_reason?.incident
  const assignees = (data.assignees ?? []).slice(0, 10).map(({ summary }) => line(summary, 50) || 'somebody')
  const message = eventMessage('PagerDuty', {
    head: words(change, data.number ? `#${data.number}` : '', quote(data.title ?? incident?.summary)),
    details: [
      service?.summary && `Service: ${service.summary}`,
      facts.some(Boolean) && `Status: ${facts.filter(Boolean).join(', ')}`,
      type === 'incident.incident_type.changed' && data.incident_type?.name && `Type: ${data.incident_type.name}`,
      merged && `Merged into: ${words(quote(merged.summary, 200) || merged.id, merged.html_url)}`,
      assignees.length > 0 && `Assigned to: ${assignees.join(', ')}`,
      ...fieldsOf(data),
      agent?.summary && `By: ${agent.summary}`,
      at && `At: ${at}`,
    ],
    link: data.html_url ?? incident?.html_url,
    text: data.content || data.message,
  })
  return { message, sessionKey: `hook:pagerduty:${line(incident?.id ?? data.id, 200) || 'incidents'}` }
}

const mostFields = 20

/** The custom fields that have changed; all of them if the event does not say which. */
function fieldsOf({ changed_custom_fields: changed, custom_fields: all }: Data): string[] {
  const fields = changed?.length ? changed : (all ?? [])
  const more = fields.length - mostFields
  return [
    ...fields.slice(0, mostFields).map(({ name, display_name: label, value }) => {
      return `Field ${quote(label || name, 100) || 'without a name'}: ${valueText(value)}`
    }),
    ...(more > 0 ? [`and ${more} more fields`] : []),
  ]
}

function valueText(value: unknown): string {
  const values = [value].flat().slice(0, 20)
  const texts = values.filter((each) => ['string', 'number', 'bigint', 'boolean'].includes(typeof each))
  return texts.map((each) => line(String(each), 200)).join(', ') || 'none'
}
