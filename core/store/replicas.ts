// Messages between the gateways that share a store. They are hints and are not stored: a gateway that has no connection
// at the moment misses them, so whoever depends on one also asks the store now and then.
import type { Json } from '../plugin.ts'

export interface Replicas {
  /** Sends a message to all other gateways, soon and together with others. */
  publish(topic: string, item: Json): void
  /**
   * Calls the subscriber with the messages of other gateways. It must not throw. The topic `catch-up` says that
   * messages may have been missed.
   */
  subscribe(topic: string, subscriber: (item: Json) => void): void
}

/** For a store that one gateway owns. */
export const noReplicas: Replicas = { publish() {}, subscribe() {} }
