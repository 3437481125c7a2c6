// The changes of the store that its subscribers receive.
import type { Feed } from './feed.ts'
import type { ListedStep, RequestSummary, StoredDelivery, StoredEvent, StoredRun } from '../store.ts'

export type RequestChange = Omit<RequestSummary, 'seq'>
export type DeliveryChange = Omit<StoredDelivery, 'seq'>
export interface RunChange {
  run: Omit<StoredRun, 'seq'>
  deliveries: readonly DeliveryChange[]
}

/** A step that begins or has ended. The beginning of a call of a model is not stored. */
export interface StepChange {
  runId: string
  agentId: string
  sessionKey: string
  /** With the arguments of a call, shortened, and nothing else of what was said. */
  step: ListedStep
}

export interface StoreChanges {
  requests: Feed<RequestChange>
  events: Feed<StoredEvent>
  runs: Feed<RunChange>
  steps: Feed<StepChange>
  outbox: Feed<DeliveryChange>
}
