// The topic subscriptions of one client.
import { GatewayError } from '../../errors.ts'
import type { Topics } from './topics.ts'

export interface Subscriptions {
  /**
   * Subscribes to the named topics, or to all when `names` is undefined. Returns all subscribed topics. Throws
   * `invalid_request`, and changes nothing, when a name is unknown.
   */
  add(names: readonly string[] | undefined): string[]
  /** Unsubscribes from the named topics, or from all. Returns the remaining ones. */
  remove(names: readonly string[] | undefined): string[]
}

export function createSubscriptions(topics: Topics, receive: (frame: Buffer) => void): Subscriptions {
  const active = new Map<string, () => void>()
  const checkNames = (names: readonly string[] = topics.names): readonly string[] => {
    if (names.every((name) => topics.names.includes(name))) return names
    throw new GatewayError('invalid_request', `topics must be a list of these names: ${topics.names.join(', ')}.`)
  }
  return {
    add: (names) => {
      for (const name of checkNames(names)) if (!active.has(name)) active.set(name, topics.subscribe(name, receive))
      return [...active.keys()]
    },
    remove: (names) => {
      for (const name of checkNames(names)) {
        active.get(name)?.()
        active.delete(name)
      }
      return [...active.keys()]
    },
  }
}
