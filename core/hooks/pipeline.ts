// The path of a request through its mapping: its actions are resolved and planned, then it is accepted or skipped.
import type { RepeatKey } from '../plugin/plugin.ts'
import type { NewRefusal, SkippedBy } from '../store/store.ts'
import {
  type Dispatch,
  type Dispatched,
  type IncomingRequest,
  mappingSource,
  type Plan,
  type Planner,
  requestOf,
} from './dispatch.ts'
import { planActions } from './mapped-action.ts'
import type { MappedRequest } from './mapped-request.ts'
import type { Mapping } from './mapping.ts'
import type { Mappings } from './mappings.ts'

/** What a request becomes. */
export interface PlannedRequest {
  /** Absent: the request is skipped. */
  plan: Plan<object> | undefined
  /** Absent: the body of the request is the action itself. */
  mapping?: Mapping
  /** The id that the sender gave the request. */
  providerId?: string | RepeatKey | undefined
  /** The rule of the key `skip` that holds. */
  skippedBy?: SkippedBy | undefined
}

interface MappedCall {
  mapping: Mapping
  request: MappedRequest
  /** Called when the mapping has read the payload, whether or not its actions are allowed. */
  onResolved?(): void
}

interface PipelineDeps {
  mappings: Pick<Mappings, 'enter'>
  dispatch: Dispatch
  createId: () => string
  /** Records a skipped request. */
  record(refusal: NewRefusal): void | Promise<void>
}

export type Pipeline = ReturnType<typeof createPipeline>

export function createPipeline({ mappings, dispatch, createId, record }: PipelineDeps) {
  return {
    /** Stores and starts nothing. `isLimited`: the request counts towards the rate limit of the mapping. */
    async plan({ isLimited, ...call }: MappedCall & { isLimited: boolean }): Promise<PlannedRequest> {
      if (isLimited) call.mapping.checkRate?.()
      if (!call.mapping.transform) return await planMapped(dispatch, call)
      const leave = mappings.enter()
      return await planMapped(dispatch, call).finally(leave)
    },
    /** Stores the request and starts its work, or records that it was skipped. */
    async accept(incoming: IncomingRequest, { plan, skippedBy }: PlannedRequest): Promise<Dispatched<object>> {
      if (plan) return await dispatch.accept(incoming, plan)
      const requestId = createId()
      const reason = skippedBy && { reason: 'skip' as const, skippedBy }
      await record({ ...requestOf(incoming, requestId), status: 'skipped', ...reason, audit: incoming.audit })
      return { reply: { ok: true, skipped: true }, replayed: false, requestId }
    },
  }
}

export async function planMapped(
  planner: Planner,
  { mapping, request, onResolved }: MappedCall,
): Promise<PlannedRequest> {
  const { actions, providerId, skippedBy } = await mapping.resolveActions(request)
  onResolved?.()
  const source = mappingSource(request.path, mapping)
  const plan = actions.length > 0 ? planActions(planner, actions, source) : undefined
  return { plan, mapping, providerId, skippedBy }
}
