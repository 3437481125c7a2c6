// Messages between the gateways that share a store. They are hints and are not stored: a gateway that has no connection
// at the moment misses them, so whoever depends on one also asks the store now and then.
import { type Static, type TSchema, Type } from '../typebox.ts'

/** What messages are about. An item that does not fit the schema reaches no subscriber. */
export interface Topic<Item extends TSchema = TSchema> {
  name: string
  item: Item
}

/** What a gateway tells the others about itself. */
export interface Announcement {
  /** Names the gateway for people: its host and port. */
  name: string
  /** A text that is equal for equal configurations. It may hold secrets: only a keyed digest of it is sent. */
  config: string
}

export interface OtherGateway {
  name: string
  hasSameConfig: boolean
}

export interface Replicas {
  /** Sends a message to the gateways that subscribe to its topic, soon and together with others. */
  publish<Item extends TSchema>(topic: Topic<Item>, item: Static<Item>): void
  /** Whether another gateway subscribes to this topic. */
  isWanted(topic: Topic): boolean
  /** Calls the subscriber with the messages of other gateways. @returns a function that unsubscribes */
  subscribe<Item extends TSchema>(topic: Topic<Item>, subscriber: (item: Static<Item>) => void): () => void
  /** Tells the other gateways about this one. Call it again when the configuration has changed. */
  announce(self: Announcement): void
  /** The other gateways that have announced themselves and were there seconds ago. Empty until this one has. */
  others(): OtherGateway[]
}

/** Messages may have been missed. A gateway sends this one to itself. */
export const catchUp = { name: 'catch-up', item: Type.Null() } satisfies Topic

/** For a store that one gateway owns. */
export const noReplicas: Replicas = {
  publish() {},
  isWanted: () => false,
  subscribe: () => () => undefined,
  announce() {},
  others: () => [],
}
