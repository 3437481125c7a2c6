// The preset for any service that follows Standard Webhooks: the type of the event, and its data in a few lines.
import { clip, lines } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

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

export default definePreset<Payload>({
  name: 'standard-webhooks',
  description: 'Events of any service that follows Standard Webhooks or uses Svix.',
  payload: Payload,
  mapping: { name: 'Webhook' },
  auth: { scheme: 'standard-webhooks' },
  deliveryId: ({ headers }) => headers['webhook-id'] ?? headers['svix-id'],
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

const mostLines = 30
const deepest = 3

const typeNames = ['type', 'event_type', 'eventType', 'event'] as const

/** Some services sign this way, but send an object without `data`, or without a type. */
function toAction({ payload }: PresetRequest<Payload>) {
  const typeName = typeNames.find((name) => isName(payload[name]))
  const type = typeName && (payload[typeName] as string)
  const others = Object.entries(payload).filter(([name]) => name !== typeName && name !== 'timestamp')
  const data = payload.data ?? Object.fromEntries(others)
  const facts = factsOf(data)
  if (type === undefined && facts.length === 0) throw new InputError('type is required; it names the event.')
  const more = facts.length > mostLines && `… and ${facts.length - mostLines} more`
  return {
    message: lines(`Event: ${type ?? 'a webhook'}`, ...facts.slice(0, mostLines), more),
    sessionKey: `hook:standard-webhooks:${idOf(data) ?? type ?? 'webhook'}`,
  }
}

const isName = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '' && value.length <= 200

/** Lists each value with its path: `customer.email: a@example.com`. */
function factsOf(value: unknown, path = '', depth = 0): string[] {
  if (value === null || value === undefined) return []
  if (typeof value !== 'object') {
    const text = clip((typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' '), 300)
    return text ? [`${path || 'data'}: ${text}`] : []
  }
  if (depth === deepest) return [`${path}: …`]
  return Object.entries(value).flatMap(([key, inner]) => factsOf(inner, path ? `${path}.${key}` : key, depth + 1))
}

function idOf(data: unknown): string | undefined {
  const id = (data as { id?: unknown } | null | undefined)?.id
  return typeof id === 'string' || typeof id === 'number' ? String(id).slice(0, 200) : undefined
}
