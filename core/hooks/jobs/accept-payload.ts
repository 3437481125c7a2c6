// Accepts the payloads that the job of a preset brings: they take the path of a webhook of that preset.
import { GatewayError } from '../../errors.ts'
import { InputError, type Json } from '../../plugin/plugin.ts'
import type { NewRefusal, Store } from '../../store/store.ts'
import { type Dispatch, type IncomingRequest, requestOf } from '../dispatch.ts'
import { failureOf, maxKeyLength } from '../incoming-request.ts'
import type { Mappings } from '../mappings.ts'
import { createPipeline } from '../pipeline.ts'
import type { AcceptPayload } from './job.ts'

interface AcceptPayloadDeps {
  mappings: Pick<Mappings, 'routeFor' | 'enter'>
  dispatch: Dispatch
  store: Pick<Store, 'recordRefusal'>
  createId: () => string
}

export function createAcceptPayload({ mappings, dispatch, store, createId }: AcceptPayloadDeps): AcceptPayload {
  // A job goes on only when the record is stored: until then, the payload must come again.
  const record = (refusal: NewRefusal) => store.recordRefusal(refusal, Date.now())
  const pipeline = createPipeline({ mappings, dispatch, createId, record })

  return async (preset, payload, { id }) => {
    const request = { payload, headers: {}, query: {}, path: preset, now: new Date().toISOString() }
    const mapping = mappings.routeFor(preset).findMapping(request)
    if (!mapping) throw new GatewayError('not_found', `No mapping accepts this payload of the preset "${preset}".`)
    const incoming = incomingOf(preset, { payload, id, keepBody: mapping.keepBody })
    try {
      const planned = await pipeline.plan({ mapping, request, isLimited: true })
      const { replayed } = await pipeline.accept(incoming, planned)
      return planned.plan ? (replayed ? 'duplicate' : 'accepted') : 'skipped'
    } catch (error) {
      if (!isFinal(error)) throw error
      await record({ ...requestOf(incoming, createId()), ...failureOf(error) })
      return 'refused'
    }
  }
}

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
