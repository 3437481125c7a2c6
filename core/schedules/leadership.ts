// Elects the gateway that runs the heartbeats, among those on the same store.
import { describeError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import type { Events, Wake } from '../sessions/events.ts'
import type { CreateLease, HeldLease } from '../store/held-lease.ts'
import type { Replicas } from '../store/replicas.ts'
import type { Leadership } from './heartbeat.ts'

interface LeadershipDeps {
  events: Events
  createLease: CreateLease
  replicas: Replicas
  /** False: this gateway is always the leader, and requests the waiting wakes when it starts. */
  isShared: boolean
  log: Log
}

export function createLeadership({
  events,
  createLease,
  replicas,
  isShared,
  log,
}: LeadershipDeps): Leadership & Pick<HeldLease, 'start' | 'close'> {
  /** Wakes of which no message has told: the sender has died, or there was no leader. */
  const requestWaitingWakes = (): void => {
    if (!isShared || !lease.isHeld()) return
    events.requestWaitingWakes().catch((error: unknown) => {
      log.error(describeError(error), 'waiting events could not be read')
    })
  }
  const lease = createLease('heartbeat', { onAcquired: requestWaitingWakes, onLost: () => undefined })
  return {
    isShared,
    isHeld: lease.isHeld,
    forwardWake: ({ sessionKey, agentId }: Wake) =>
      replicas.publish('wake', { sessionKey, ...(agentId !== undefined && { agentId }) }),
    start: () => {
      replicas.subscribe('wake', (wake) => {
        if (lease.isHeld()) events.wake(wake as unknown as Wake)
      })
      replicas.subscribe('catch-up', requestWaitingWakes)
      lease.start()
    },
    close: lease.close,
  }
}
