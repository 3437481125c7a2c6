// The changes of the store that its subscribers receive.
import type { Feed } from './feed.ts'
import type { RequestSummary, StoredDelivery, StoredEvent, StoredRun } from '../store.ts'

export type RequestChange = Omit<RequestSummary, 'seq'>
export type DeliveryChange = Omit<StoredDelivery, 'seq'>
export interface RunChange {
  run: Omit<StoredRun, 'seq'>
  deliveries: readonly DeliveryChange[]
}

export interface StoreChanges {
  requests: Feed<RequestChange>
  events: Feed<StoredEvent>
  runs: Feed<RunChange>
  outbox: Feed<DeliveryChange>
}
