// Holds a lease for as long as this process lives: acquires it when it is free, renews it, and reports when it is lost.
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Store } from './store.ts'

export interface HeldLease {
  /** False as soon as another gateway may hold the lease. */
  isHeld(): boolean
  /** Tries to acquire the lease, now and then. */
  start(): void
  /** Releases the lease, so that another gateway can acquire it at once. */
  close(): Promise<void>
}

interface HeldLeaseOptions {
  onAcquired(): void
  /** Another gateway holds the lease, or may hold it. Also called if this one has never held it. */
  onLost(): void
}

/** Creates a lease with this name. It does nothing before `start`. */
export type CreateLease = (name: string, options: HeldLeaseOptions) => HeldLease

interface LeaseDeps {
  store: Pick<Store, 'acquireLease' | 'releaseLease'>
  /** Identifies this process. */
  owner: string
  log: Log
}

/** With these times, another gateway takes over within 16 seconds. */
const leaseMs = 12_000
const renewEveryMs = 4_000
/** The lease counts as lost this long before it expires, so that its use has ended by then. */
const marginMs = 2_000

/** For a store that one gateway owns: a lease that is always free. */
export const createOwnedLease: CreateLease = (_name, { onAcquired }) => {
  let isStarted = false
  return {
    isHeld: () => isStarted,
    start: () => {
      isStarted = true
      onAcquired()
    },
    close: async () => {},
  }
}

export const createSharedLeases =
  ({ store, owner, log }: LeaseDeps): CreateLease =>
  (name, { onAcquired, onLost }) => {
    let heldUntil = -Infinity
    let wasHeld: boolean | undefined
    let renewal: NodeJS.Timeout | undefined
    let expiry: NodeJS.Timeout | undefined
    let renewing: Promise<void> = Promise.resolve()
    let isClosed = false
    const outage = createOutage(log, {
      level: 'warn',
      failed: 'a lease could not be renewed; it is tried again',
      worked: 'leases are renewed again',
    })

    // Monotonic time, so that a change of the clock does not extend the lease.
    const isHeld = (): boolean => !isClosed && performance.now() < heldUntil

    async function renew(): Promise<void> {
      const sentAt = performance.now()
      try {
        const grant = await store.acquireLease(name, owner, Date.now(), Date.now() + leaseMs)
        outage.worked({ lease: name })
        heldUntil = grant ? sentAt + leaseMs - marginMs : -Infinity
        report()
      } catch (error) {
        outage.failed(error, { lease: name })
      }
    }

    /** Calls back when the lease was acquired or lost since the last report. */
    function report(): void {
      if (isClosed) return
      clearTimeout(expiry)
      const isHeldNow = isHeld()
      if (isHeldNow) expiry = setTimeout(report, heldUntil - performance.now() + 1).unref()
      if (isHeldNow === wasHeld) return
      wasHeld = isHeldNow
      if (isHeldNow) onAcquired()
      else onLost()
    }

    const renewSoon = (): void => {
      renewing = renew()
    }

    return {
      isHeld,
      start: () => {
        renewSoon()
        renewal = setInterval(renewSoon, renewEveryMs).unref()
      },
      close: async () => {
        clearInterval(renewal)
        clearTimeout(expiry)
        await renewing
        const holdsIt = isHeld()
        isClosed = true
        // If it cannot be released, it expires.
        if (holdsIt) await store.releaseLease(name, owner).catch(() => undefined)
      },
    }
  }
