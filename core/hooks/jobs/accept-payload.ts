// Accepts the payloads that the job of a preset brings: they take the path of a webhook of that preset.
import { GatewayError } from '../../errors.ts'
import { InputError, type Json } from '../../plugin/plugin.ts'
import type { Store } from '../../store/store.ts'
import { type Dispatch, type IncomingRequest, mappingSource } from '../dispatch.ts'
import { maxKeyLength, recordedMessage, skipReason } from '../incoming-request.ts'
import { planActions } from '../mapped-action.ts'
import type { Mappings } from '../mappings.ts'
import type { AcceptPayload } from './job.ts'

interface AcceptPayloadDeps {
  mappings: Pick<Mappings, 'routeFor' | 'enter'>
  dispatch: Dispatch
  store: Pick<Store, 'recordRefusal'>
  createId: () => string
}

export function createAcceptPayload({ mappings, dispatch, store, createId }: AcceptPayloadDeps): AcceptPayload {
  const record = (incoming: IncomingRequest, refusal: Pick<Refusal, 'status' | 'error' | 'reason' | 'skippedBy'>) => {
    const { rawBody, keepBody, ...request } = incoming
    return store.recordRefusal({ id: createId(), ...request, body: keepBody ? rawBody : null, ...refusal }, Date.now())
  }

  return async (preset, payload, { id }) => {
    const request = { payload, headers: {}, query: {}, path: preset, now: new Date().toISOString() }
    const mapping = mappings.routeFor(preset).findMapping(request)
    if (!mapping) throw new GatewayError('not_found', `No mapping accepts this payload of the preset "${preset}".`)
    const incoming = incomingOf(preset, { payload, id, keepBody: mapping.keepBody })
    const leave = mappings.enter()
    try {
      mapping.checkRate?.()
      const { actions, skippedBy } = await mapping.resolveActions(request)
      if (actions.length === 0) {
        await record(incoming, { status: 'skipped', ...skipReason(skippedBy) })
        return 'skipped'
      }
      const { replayed } = await dispatch.accept(
        incoming,
        planActions(dispatch, actions, mappingSource(preset, mapping)),
      )
      return replayed ? 'duplicate' : 'accepted'
    } catch (error) {
      if (!isFinal(error)) throw error
      await record(incoming, {
        status: error.status < 500 ? 'rejected' : 'failed',
        error: { type: error.code, message: recordedMessage(error) },
      })
      return 'refused'
    } finally {
      leave()
    }
  }
}

type Refusal = Parameters<Store['recordRefusal']>[0]

/** The id is in a scope of its own: a sender of webhooks must not be able to use up the id of a future payload. */
function incomingOf(
  preset: string,
  { payload, id, keepBody }: { payload: Json; id: string; keepBody: boolean },
): IncomingRequest {
  if (!id.trim() || id.length > maxKeyLength)
    throw new InputError(`The id of a payload must have 1 to ${maxKeyLength} characters.`)
  return {
    hook: preset,
    client: 'gateway',
    headers: '{}',
    rawBody: JSON.stringify(payload),
    keepBody,
    idempotency: { scope: `job:${preset}`, key: id, bodyHash: '' },
    authentication: { scheme: 'preset' },
  }
}

/** Whether the same payload would be refused again. */
const isFinal = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.status !== 503 && error.status !== 429
