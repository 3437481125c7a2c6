// The topic subscriptions of one client.
import { GatewayError } from '../../errors.ts'
import type { Principal } from '../../http/access.ts'
import { notification, type Topics } from './topics.ts'

export interface Subscriptions {
  /**
   * Subscribes to the named topics, or to all that the client may see when `names` is undefined. Returns all subscribed
   * topics. Throws, and changes nothing, when a name is unknown or the client may not see the topic.
   */
  add(names: readonly string[] | undefined): string[]
  /** Unsubscribes from the named topics, or from all. Returns the remaining ones. */
  remove(names: readonly string[] | undefined): string[]
}

interface SubscriptionsDeps {
  topics: Topics
  receive(frame: Buffer): void
  /** The client, when it has authenticated. */
  principal(): Principal
}

export function createSubscriptions({ topics, receive, principal }: SubscriptionsDeps): Subscriptions {
  const active = new Map<string, () => void>()
  let stopListening: (() => void) | undefined
  /** The log is that of this gateway, so nothing of it is missed. */
  const reportMissed = (): void => {
    const missed = [...active.keys()].filter((name) => name !== 'log')
    if (missed.length > 0) receive(notification('missed', { topics: missed }))
  }
  const checkNames = (names: readonly string[] = topics.names): readonly string[] => {
    if (names.every((name) => topics.names.includes(name))) return names
    throw new GatewayError('invalid_request', `topics must be a list of these names: ${topics.names.join(', ')}.`)
  }
  return {
    add: (names) => {
      const client = principal()
      const wanted = names ? checkNames(names) : topics.names.filter((name) => maySee(topics, name, client))
      for (const name of wanted) topics.authorize(name, client)
      for (const name of wanted) if (!active.has(name)) active.set(name, topics.subscribe(name, receive, client))
      stopListening ??= topics.onMissed(reportMissed)
      return [...active.keys()]
    },
    remove: (names) => {
      for (const name of checkNames(names)) {
        active.get(name)?.()
        active.delete(name)
      }
      if (active.size === 0) {
        stopListening?.()
        stopListening = undefined
      }
      return [...active.keys()]
    },
  }
}

function maySee(topics: Topics, name: string, principal: Principal): boolean {
  try {
    topics.authorize(name, principal)
    return true
  } catch {
    return false
  }
}
