// An accept on its way to the store's thread, as lists: copying the names of all fields would cost 3 % of the CPU time
// of an agent request.
import type { AcceptCommand, NewEvent, NewRequest, NewRun } from '../store.ts'
import { type RunRecord, splitSpec } from './runs.ts'

/** A command with its runs as they are stored. */
export type AcceptRecords = Omit<AcceptCommand, 'runs'> & { runs?: readonly RunRecord[] | undefined }

export type PackedAccept = ReturnType<typeof packAccept>

export function packAccept(command: AcceptCommand) {
  const { at, request, events, runs } = command
  return [at, request && packRequest(request), events?.map(packEvent), runs?.map(packRun), packOthers(command)] as const
}

/** Most commands have none of these. */
function packOthers({ idempotency, route, deliveries, state, firing }: AcceptCommand): Others | undefined {
  if (!idempotency && !route && !deliveries && !state && !firing) return undefined
  return { idempotency, route, deliveries, state, firing } satisfies Complete<Others>
}

type Others = Omit<AcceptCommand, 'at' | 'request' | 'events' | 'runs'>

export const unpackAccept = ([at, request, events, runs, others]: PackedAccept): AcceptRecords => ({
  at,
  request: request && unpackRequest(request),
  events: events?.map(unpackEvent),
  runs: runs?.map(unpackRun),
  ...others,
})

/** All fields, so that none is forgotten. */
type Complete<Shape> = { [Key in keyof Required<Shape>]: Shape[Key] }

const packRequest = ({ id, hook, client, headers, query, body, replayOf, authentication }: NewRequest) =>
  [id, hook, client, headers, query, body, replayOf, authentication] as const

function unpackRequest(values: ReturnType<typeof packRequest>): Complete<NewRequest> {
  const [id, hook, client, headers, query, body, replayOf, authentication] = values
  return { id, hook, client, headers, query, body, replayOf, authentication }
}

const packEvent = ({ id, sessionKey, text, mode, source, trusted, inBody, agentId }: NewEvent) =>
  [id, sessionKey, text, mode, source, trusted, inBody, agentId] as const

function unpackEvent(values: ReturnType<typeof packEvent>): Complete<NewEvent> {
  const [id, sessionKey, text, mode, source, trusted, inBody, agentId] = values
  return { id, sessionKey, text, mode, source, trusted, inBody, agentId }
}

function packRun(run: NewRun) {
  const { id, kind, agentId, sessionKey, maxAttempts, concurrencyLimit, unnamedSession } = run
  const { spec, message } = splitSpec(run.spec)
  return [id, kind, agentId, sessionKey, spec, message, maxAttempts, concurrencyLimit, unnamedSession] as const
}

function unpackRun(values: ReturnType<typeof packRun>): Complete<RunRecord> {
  const [id, kind, agentId, sessionKey, spec, message, maxAttempts, concurrencyLimit, unnamedSession] = values
  return { id, kind, agentId, sessionKey, spec, message, maxAttempts, concurrencyLimit, unnamedSession }
}
