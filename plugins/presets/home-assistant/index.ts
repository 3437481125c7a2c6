// The preset for Home Assistant: requests of a rest_command in an automation.
import { clip, lines } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]))
const State = Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]))

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
})
type Payload = Static<typeof Payload>

export default definePreset<Payload>({
  name: 'home-assistant',
  description: 'Messages of Home Assistant automations.',
  payload: Payload,
  mapping: { name: 'Home Assistant' },
  toAction,
  samples: async () => (await import('./samples.ts')).createSamples(),
})

function toAction({ payload }: PresetRequest<Payload>) {
  const { message, title, entity_id: entity, friendly_name: name, from, to, area, automation } = payload
  const state = to ?? payload.state
  if (!message?.trim() && !entity?.trim())
    throw new InputError('message or entity_id is required; describe what happened in message.')
  const change =
    entity && `${name ? `${name} (${entity})` : entity}${stateText(from, state)}${area ? ` in ${area}` : ''}`
  return {
    message: lines(`Home Assistant: ${title ?? automation ?? 'news'}`, change, clip(message, 4000)),
    sessionKey: `hook:home-assistant:${clip(entity ?? automation ?? 'news', 200)}`,
  }
}

function stateText(from: Payload['from'], to: Payload['to']): string {
  if (to === undefined || to === null) return ''
  return from === undefined || from === null ? ` is ${to}` : ` went from ${from} to ${to}`
}
