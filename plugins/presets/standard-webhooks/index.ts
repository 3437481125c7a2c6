// The preset for any service that follows Standard Webhooks: the type of the event, and its data in a few lines.
import { exactId, line, lines, listFields } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'
import { schemes } from './scheme.ts'

const Name = Type.Optional(Type.Union([Type.String({ minLength: 1, maxLength: 200 }), Type.Null()]))

const Payload = Type.Object({
  type: Name,
  // Other names of the type. A service may use them for something else.
  event_type: Type.Optional(Type.Unknown()),
  eventType: Type.Optional(Type.Unknown()),
  event: Type.Optional(Type.Unknown()),
  timestamp: Type.Optional(Type.Union([Type.String(), Type.Number(), Type.Null()])),
  data: Type.Optional(Type.Unknown()),
})
type Payload = Static<typeof Payload>

const preset = definePreset<Payload>({
  name: 'standard-webhooks',
  description: 'Events of any service that follows Standard Webhooks or uses Svix.',
  payload: Payload,
  mapping: { name: 'Webhook' },
  auth: { scheme: 'standard-webhooks' },
  deliveryId: ({ headers }) => headers['webhook-id'] ?? headers['svix-id'],
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, ...schemes]

const typeNames = ['type', 'event_type', 'eventType', 'event'] as const

/** Some services sign this way, but send an object without `data`, or without a type. */
function toAction({ payload }: PresetRequest<Payload>) {
  const typeName = typeNames.find((name) => isName(payload[name]))
  const type = typeName && (payload[typeName] as string)
  const others = Object.entries(payload).filter(([name]) => name !== typeName && name !== 'timestamp')
  const data = payload.data ?? Object.fromEntries(others)
  const facts = listFields(data, { labelOf: (path) => path.join('.') || 'data' })
  if (type === undefined && facts.length === 0) throw new InputError('type is required; it names the event.')
  const name = line(type)
  return {
    message: lines(`Event: ${name || 'a webhook'}`, ...facts),
    sessionKey: `hook:standard-webhooks:${idOf(data) ?? (name || 'webhook')}`,
  }
}

const isName = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '' && value.length <= 200

const idOf = (data: unknown): string | undefined => exactId((data as { id?: unknown } | null | undefined)?.id)
