// Messages between the gateways that share a store. They are hints and are not stored: a gateway that has no connection
// at the moment misses them, so whoever depends on one also asks the store now and then.
import type { Json } from '../plugin.ts'

export interface Replicas {
  /** Sends a message to the gateways that subscribe to its topic, soon and together with others. */
  publish(topic: string, item: Json): void
  /** Whether another gateway subscribes to this topic. */
  isWanted(topic: string): boolean
  /**
   * Calls the subscriber with the messages of other gateways. It must not throw. The topic `catch-up` says that
   * messages may have been missed. @returns a function that unsubscribes
   */
  subscribe(topic: string, subscriber: (item: Json) => void): () => void
}

/** For a store that one gateway owns. */
export const noReplicas: Replicas = { publish() {}, isWanted: () => false, subscribe: () => () => undefined }
