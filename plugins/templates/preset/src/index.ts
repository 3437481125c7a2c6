// A preset for the webhooks of a shop: signed requests about orders, with one session for each order. Its scheme says how
// the shop signs.
import { entryOf, eventMessage, Maybe } from 'svc-gateway/kit'
import { definePreset, defineScheme, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'
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

// The header holds the time, and "v1=" with the hex HMAC-SHA256 of the time and the body: "t=1767225600,v1=5257…".
export const scheme = defineScheme({
  name: 'plugin-name',
  description: 'Plugin Name: webhooks of the shop.',
  signatures: [
    {
      header: 'x-signature',
      separator: ',',
      prefix: 'v1=',
      signed: '{timestamp}.{body}',
      timestamp: { prefix: 't=' },
    },
  ],
})

export const preset = definePreset<Payload, Config>({
  name: 'plugin-name',
  description: 'Plugin Name: orders of the shop.',
  payload: Payload,
  mapping: { name: 'Plugin Name' },
  // The operator adds the secret.
  auth: { scheme: 'plugin-name' },
  config: Config,
  deliveryId: ({ payload }) => payload.id,
  toAction,
  samples: createSamples,
  panel: { title: 'Plugin Name', folder: new URL('./panel/', import.meta.url), reads: ['/api/requests'] },
})

export default [preset, scheme]

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
