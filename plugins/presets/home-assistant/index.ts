// The preset for Home Assistant: requests of a rest_command in an automation, and of the integration "State webhook".
import { eventMessage, line, Maybe, words } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()])
const Attributes = Maybe(Type.Object({ friendly_name: Text, unit_of_measurement: Text }))
// A value, or a state object with its attributes.
const State = Maybe(Type.Union([Value, Type.Object({ state: Maybe(Value), attributes: Attributes })]))

const Payload = Type.Object({
  message: Text,
  title: Text,
  entity_id: Text,
  friendly_name: Text,
  from: State,
  to: State,
  state: State,
  area: Text,
  automation: Text,
  // From the integration "State webhook":
  old_state: State,
  new_state: State,
  new_state_attributes: Attributes,
  time: Text,
})
type Payload = Static<typeof Payload>

// Home Assistant does not retry, so each request is new: there is no `deliveryId`.
export default definePreset<Payload>({
  name: 'home-assistant',
  description: 'Messages of Home Assistant automations.',
  payload: Payload,
  mapping: { name: 'Home Assistant' },
  toAction,
  samples: async () => (await import('./samples.ts')).createSamples(),
})

function toAction({ payload }: PresetRequest<Payload>) {
  const { message, title, automation, time } = payload
  const entity = line(payload.entity_id, 200)
  const change = describeChange(entity, payload)
  const heading = line(title) || line(automation)
  if (!message?.trim() && !change && !heading)
    throw new InputError('message or entity_id is required; describe what happened in message.')
  return {
    message: eventMessage(
      'Home Assistant',
      {
        head: heading || change || 'a message',
        details: [heading && change, time && `At: ${time}`],
        text: message,
      },
      4000,
    ),
    sessionKey: `hook:home-assistant:${entity || line(automation, 200) || 'news'}`,
  }
}

/** An empty text if the payload names no entity. */
function describeChange(
  entity: string,
  { friendly_name, new_state_attributes: attributes, area, ...payload }: Payload,
): string {
  const before = payload.from ?? payload.old_state
  const after = payload.to ?? payload.new_state ?? payload.state
  const name = line(friendly_name || attributes?.friendly_name || attributesOf(after)?.friendly_name, 100)
  const unit = line(attributes?.unit_of_measurement || attributesOf(after)?.unit_of_measurement, 20)
  const [from, to] = [before, after].map(valueOf).map((value) => words(value, Number.isNaN(Number(value)) ? '' : unit))
  const subject = name && entity ? `${name} (${entity})` : name || entity
  return (
    subject &&
    words(
      subject,
      valueOf(after) && (valueOf(before) ? `went from ${from} to ${to}` : `is ${to}`),
      area && `in ${line(area, 100)}`,
    )
  )
}

const attributesOf = (state: Payload['state']) => (typeof state === 'object' ? state?.attributes : undefined)

const valueOf = (state: Payload['state']): string =>
  line(String((typeof state === 'object' ? state?.state : state) ?? ''), 100)
