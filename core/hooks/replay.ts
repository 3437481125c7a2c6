// An operator has a delivery repeated: the same rules as at the door, another delivery in the log, no idempotency key.
import { GatewayError } from '../errors.ts'
import { parsePayload } from '../http/payload.ts'
import type { NewEvent, NewRun, StoredDelivery } from '../store/store.ts'
import { type Check, compileCheck, firstProblem } from '../typebox.ts'
import { type AgentBody, type createAgentBody, trimNames, WakeBody } from './action.ts'
import type { Arrival, Dispatch } from './dispatch.ts'

export interface ReplayRequest {
  /** Who asks for it. */
  client: string
  /** In place of the body that came. */
  body?: unknown
  /** True: nothing is started, and the answer says what would be. */
  dryRun?: boolean | undefined
}

export type Replay = (delivery: StoredDelivery, request: ReplayRequest) => Promise<object>

interface ReplayDeps {
  dispatch: Dispatch
  agentBody: ReturnType<typeof createAgentBody>
}

export function createReplay({ dispatch, agentBody }: ReplayDeps): Replay {
  const checks: Record<string, () => Check> = { wake: lazily(WakeBody), agent: lazily(agentBody) }

  return async (delivery, { client, body, dryRun }) => {
    const { hook } = delivery
    const check = Object.hasOwn(checks, hook) ? checks[hook] : undefined
    if (!check) throw new GatewayError('conflict', 'There is no hook of this name, so nothing can be repeated.')
    const rawBody = body === undefined ? keptBody(delivery) : JSON.stringify(body)
    const payload = parsePayload(Buffer.from(rawBody), 'object', undefined)
    trimNames(payload)
    if (!check().fits(payload)) throw new GatewayError('invalid_request', `${firstProblem(check().problems(payload))}.`)
    if (dryRun) return { ok: true, dryRun: true, actions: planned(hook, payload) }
    const headers = JSON.stringify(delivery.headers)
    const { reply, deliveryId } = await start({ hook, client, headers, rawBody, replayOf: delivery.id }, payload)
    return { ...reply, deliveryId }
  }

  async function start(arrival: Arrival, payload: object) {
    return arrival.hook === 'wake' ? await dispatch.wake(payload as WakeBody, arrival) : await dispatch.agent(payload as AgentBody, arrival)
  }

  function planned(hook: string, payload: object): object[] {
    const { events = [], runs = [] } = (hook === 'wake' ? dispatch.planWake(payload as WakeBody) : dispatch.planAgent(payload as AgentBody, hook)).work
    return [...events.map(viewWake), ...runs.map(viewAgent)]
  }
}

function lazily(schema: Parameters<typeof compileCheck>[0]): () => Check {
  let check: Check | undefined
  return () => (check ??= compileCheck(schema))
}

function keptBody({ body }: StoredDelivery): string {
  if (body === null) throw new GatewayError('conflict', 'The body of this delivery was refused before it was read; send one in "body".')
  return body
}

const viewWake = ({ sessionKey, text, mode }: NewEvent): object => ({ action: 'wake', sessionKey, text, mode })

function viewAgent({ agentId, sessionKey, spec }: NewRun): object {
  const { message, name, model, thinking, timeoutSeconds, deliver, wakeMode } = spec
  return {
    action: 'agent',
    agentId,
    sessionKey,
    message,
    name,
    model,
    thinking,
    timeoutSeconds,
    deliver: deliver !== null,
    channel: deliver?.channel,
    to: deliver?.to,
    wakeMode,
  }
}
