// A preset for the webhooks of a shop: signed requests about orders, with one session for each order.
import { entryOf, eventMessage, Maybe } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'
import { createSamples } from './samples.ts'

// Only the fields that the preset reads, so that the service can add others.
const Payload = Type.Object({
  id: Type.String({ minLength: 1, description: 'The id of the webhook, the same in each retry.' }),
  type: Type.String({ minLength: 1 }),
  order: Type.Object({
    number: Type.String({ minLength: 1 }),
    total: Type.Number(),
    currency: Type.String(),
    note: Maybe(Type.String()),
  }),
})
type Payload = Static<typeof Payload>

const Config = Type.Object({
  minimumTotal: Type.Number({ default: 0, minimum: 0, description: 'Smaller orders start nothing.' }),
})
type Config = Static<typeof Config>

export default definePreset<Payload, Config>({
  name: 'plugin-name',
  description: 'Plugin Name: orders of the shop.',
  payload: Payload,
  mapping: { name: 'Plugin Name' },
  // The header holds "sha256=" and the hex HMAC-SHA256 of the body. The operator adds the secret.
  auth: { scheme: 'hmac', header: 'x-signature', prefix: 'sha256=' },
  config: Config,
  deliveryId: ({ payload }) => payload.id,
  toAction,
  samples: createSamples,
})

/** By the type of the event. Other events are skipped. */
const events: Readonly<Record<string, string>> = {
  'order.created': 'was placed',
  'order.cancelled': 'was cancelled',
}

function toAction({ payload: { type, order }, config }: PresetRequest<Payload, Config>) {
  const event = entryOf(events, type)
  if (event === undefined || order.total < config.minimumTotal) return null
  return {
    message: eventMessage('Plugin Name', {
      head: `order ${order.number} ${event}`,
      details: [`Total: ${order.total.toFixed(2)} ${order.currency}`],
      text: order.note,
    }),
    sessionKey: `hook:plugin-name:${order.number}`,
  }
}
