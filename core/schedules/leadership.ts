// Elects the gateway that runs the heartbeats, among those on the same store.
import { describeError } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Events, Wake } from '../sessions/events.ts'
import type { CreateLease, HeldLease } from '../store/held-lease.ts'
import { catchUp, type Replicas, type Topic } from '../store/replicas.ts'
import { Type } from '../typebox.ts'
import type { Leadership } from './heartbeat.ts'

interface LeadershipDeps {
  events: Events
  createLease: CreateLease
  replicas: Replicas
  /** False: this gateway is always the leader, and requests the waiting wakes when it starts. */
  isShared: boolean
  log: Log
}

const wakeTopic = {
  name: 'wake',
  item: Type.Object({ sessionKey: Type.String(), agentId: Type.Optional(Type.String()) }),
} satisfies Topic

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
      replicas.publish(wakeTopic, { sessionKey, ...(agentId !== undefined && { agentId }) }),
    start: () => {
      replicas.subscribe(wakeTopic, (wake) => {
        if (lease.isHeld()) events.wake(wake)
      })
      replicas.subscribe(catchUp, requestWaitingWakes)
      lease.start()
    },
    close: lease.close,
  }
}
