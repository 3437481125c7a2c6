// The topics that one client listens to.
import { GatewayError } from '../../errors.ts'
import type { Topics } from './topics.ts'

export interface Subscriptions {
  /**
   * No names: all. Throws `invalid_request`, and changes nothing, when one is unknown. Returns all that are listened to
   * now.
   */
  add(names: readonly string[] | undefined): string[]
  remove(names: readonly string[] | undefined): string[]
}

export function createSubscriptions(topics: Topics, receive: (frame: Buffer) => void): Subscriptions {
  const joined = new Map<string, () => void>()
  const known = (names: readonly string[] = topics.names): readonly string[] => {
    if (names.every((name) => topics.names.includes(name))) return names
    throw new GatewayError('invalid_request', `topics must be a list of these: ${topics.names.join(', ')}.`)
  }
  return {
    add: (names) => {
      for (const name of known(names)) if (!joined.has(name)) joined.set(name, topics.join(name, receive))
      return [...joined.keys()]
    },
    remove: (names) => {
      for (const name of known(names)) {
        joined.get(name)?.()
        joined.delete(name)
      }
      return [...joined.keys()]
    },
  }
}
