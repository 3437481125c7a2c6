// An accept on its way to the store's thread: lists in place of objects, since the names of fields cost twice what
// their values do.
import { type PackedRun, textOf } from '../operations/runs.ts'
import type { AcceptCommand, NewRequest, NewEvent, NewRun } from '../store.ts'

type PackedRequest = ReturnType<typeof packRequest>
type PackedEvent = ReturnType<typeof packEvent>
type PackedRunFields = ReturnType<typeof packRunFields>

export type PackedAccept = readonly [
  at: number,
  request: PackedRequest | undefined,
  events: readonly PackedEvent[] | undefined,
  runs: readonly PackedRunFields[] | undefined,
  others: Omit<AcceptCommand, 'at' | 'request' | 'events' | 'runs'> | undefined,
]

export function packAccept({
  at,
  request,
  events,
  runs,
  idempotency,
  route,
  deliveries,
  firing,
}: AcceptCommand): PackedAccept {
  const others = idempotency || route || deliveries || firing ? { idempotency, route, deliveries, firing } : undefined
  return [at, request && packRequest(request), events?.map(packEvent), runs?.map(packRunFields), others]
}

/** The command that `accept` takes; its runs are packed still, as they are stored. */
export type UnpackedAccept = Omit<AcceptCommand, 'runs'> & { runs?: readonly PackedRun[] }

export function unpackAccept([at, request, events, runs, others]: PackedAccept): UnpackedAccept {
  return {
    at,
    ...(request && { request: unpackRequest(request) }),
    ...(events && { events: events.map(unpackEvent) }),
    ...(runs && { runs: runs.map(unpackRun) }),
    ...others,
  }
}

/** Every field, so that none is forgotten here. */
type Whole<Shape> = { [Key in keyof Required<Shape>]: Shape[Key] }

const packRequest = ({ id, hook, client, headers, query, body, replayOf, authentication }: NewRequest) =>
  [id, hook, client, headers, query, body, replayOf, authentication] as const

const unpackRequest = ([
  id,
  hook,
  client,
  headers,
  query,
  body,
  replayOf,
  authentication,
]: PackedRequest): Whole<NewRequest> => {
  return { id, hook, client, headers, query, body, replayOf, authentication }
}

const packEvent = ({ id, sessionKey, text, mode, source, trusted, inBody, agentId }: NewEvent) =>
  [id, sessionKey, text, mode, source, trusted, inBody, agentId] as const

const unpackEvent = ([id, sessionKey, text, mode, source, trusted, inBody, agentId]: PackedEvent): Whole<NewEvent> => {
  return { id, sessionKey, text, mode, source, trusted, inBody, agentId }
}

function packRunFields({ id, kind, agentId, sessionKey, spec, maxAttempts, concurrencyLimit, unnamedSession }: NewRun) {
  return [
    id,
    kind,
    agentId,
    sessionKey,
    textOf(spec),
    spec.message,
    maxAttempts,
    concurrencyLimit,
    unnamedSession,
  ] as const
}

const unpackRun = ([
  id,
  kind,
  agentId,
  sessionKey,
  spec,
  message,
  maxAttempts,
  concurrencyLimit,
  unnamedSession,
]: PackedRunFields): Whole<PackedRun> => {
  return { id, kind, agentId, sessionKey, spec, message, maxAttempts, concurrencyLimit, unnamedSession }
}
