// An accept on its way to the store's thread: lists in place of objects, since the names of fields cost twice what their values do.
import { type PackedRun, textOf } from './runs.ts'
import type { AcceptCommand, NewDelivery, NewEvent, NewRun } from './store.ts'

type Delivery = ReturnType<typeof packDelivery>
type Event = ReturnType<typeof packEvent>
type Run = ReturnType<typeof packRunFields>

export type PackedAccept = readonly [
  at: number,
  delivery: Delivery | undefined,
  events: readonly Event[] | undefined,
  runs: readonly Run[] | undefined,
  others: Omit<AcceptCommand, 'at' | 'delivery' | 'events' | 'runs'> | undefined,
]

export function packAccept({ at, delivery, events, runs, idempotency, route, messages, firing }: AcceptCommand): PackedAccept {
  const others = idempotency || route || messages || firing ? { idempotency, route, messages, firing } : undefined
  return [at, delivery && packDelivery(delivery), events?.map(packEvent), runs?.map(packRunFields), others]
}

/** The command that `accept` takes; its runs are packed still, as they are stored. */
export type UnpackedAccept = Omit<AcceptCommand, 'runs'> & { runs?: readonly PackedRun[] }

export function unpackAccept([at, delivery, events, runs, others]: PackedAccept): UnpackedAccept {
  return {
    at,
    ...(delivery && { delivery: unpackDelivery(delivery) }),
    ...(events && { events: events.map(unpackEvent) }),
    ...(runs && { runs: runs.map(unpackRun) }),
    ...others,
  }
}

/** Every field, so that none is forgotten here. */
type Whole<Shape> = { [Key in keyof Required<Shape>]: Shape[Key] }

const packDelivery = ({ id, hook, client, headers, query, body, replayOf, proof }: NewDelivery) =>
  [id, hook, client, headers, query, body, replayOf, proof] as const

const unpackDelivery = ([id, hook, client, headers, query, body, replayOf, proof]: Delivery): Whole<NewDelivery> => {
  return { id, hook, client, headers, query, body, replayOf, proof }
}

const packEvent = ({ id, sessionKey, text, mode, source, trusted, inBody, agentId }: NewEvent) =>
  [id, sessionKey, text, mode, source, trusted, inBody, agentId] as const

const unpackEvent = ([id, sessionKey, text, mode, source, trusted, inBody, agentId]: Event): Whole<NewEvent> => {
  return { id, sessionKey, text, mode, source, trusted, inBody, agentId }
}

function packRunFields({ id, kind, agentId, sessionKey, spec, maxAttempts, gate, unnamedSession }: NewRun) {
  return [id, kind, agentId, sessionKey, textOf(spec), spec.message, maxAttempts, gate, unnamedSession] as const
}

const unpackRun = ([id, kind, agentId, sessionKey, spec, message, maxAttempts, gate, unnamedSession]: Run): Whole<PackedRun> => {
  return { id, kind, agentId, sessionKey, spec, message, maxAttempts, gate, unnamedSession }
}
