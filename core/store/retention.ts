// Retention: purges records that are older than the retention limits, or that make the store larger than its limit, in
// small steps.
import { setTimeout as delay } from 'node:timers/promises'
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin/plugin.ts'
import type { PurgePositions, PurgeResult, Store, Timestamp } from './store.ts'

export interface Retention {
  /** Checks the limits now and then periodically. */
  start(): void
  /** Checks the limits now, because they may have changed. */
  notify(): void
  /** Stops after the step that is under way. The next start continues from there. */
  close(): Promise<void>
}

export interface RetentionLimits {
  /** How many days ended records are kept; 0: forever. */
  days: number
  /** How many hours the bodies of requests and the contents of steps are kept; 0: as long as the requests and runs. */
  bodyHours: number
  /** The maximum size of the store in MiB; 0: unlimited. */
  maxMb: number
}

interface RetentionDeps {
  store: Pick<Store, 'purge' | 'purgeBodies' | 'purgeStepContents' | 'getSpace' | 'reclaimSpace'>
  limits: () => RetentionLimits
  log: Log
}

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs
const mib = 1024 * 1024
const sizeCheckMs = 30_000
const ageCheckMs = hourMs
/** Records younger than this are kept even if the store is too large: their senders may still ask for the result. */
const minAgeMs = 60_000
/** The share of the store that may stay free. Space returned to the disk today would have to be allocated tomorrow. */
const maxFreeShare = 0.1
const reclaimStepBytes = 2 * mib

export function createRetention({ store, limits, log }: RetentionDeps): Retention {
  let lastCheck = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let ageCheckedAt = -Infinity
  let isTooLarge = false
  /** No request up to this one has a body that can be deleted. */
  let lastBodyless = 0
  /** No step up to this one has contents that can be deleted. */
  let lastEmptyStep = 0
  let isClosing = false
  const outage = createOutage(log, {
    failed: 'could not purge old records; it is tried again',
    worked: 'old records can be purged again',
  })

  const check = (): void => {
    lastCheck = lastCheck
      .then(checkLimits)
      .then(() => void outage.worked(), outage.failed)
      .then(checkLater)
  }
  const checkLater = (): void => {
    clearTimeout(timer)
    if (!isClosing) timer = setTimeout(check, sizeCheckMs).unref()
  }

  async function checkLimits(): Promise<void> {
    const total = { requests: 0, runs: 0, deliveries: 0, events: 0, sessions: 0, bodies: 0, steps: 0 }
    try {
      await purgeByAge(total)
      await purgeBySize(limits().maxMb * mib, total)
    } finally {
      if (Object.values(total).some((count) => count > 0)) log.info(total, 'old records were purged')
    }
    await reclaimFreeSpace()
  }

  async function purgeByAge(total: Counts): Promise<void> {
    if (performance.now() < ageCheckedAt + ageCheckMs) return
    // Set before the work starts: a change of the limits meanwhile resets it, so that everything is checked again.
    ageCheckedAt = performance.now()
    const { days, bodyHours } = limits()
    try {
      if (days > 0) await purgeWhile(async () => true, Date.now() - days * dayMs, total)
      if (bodyHours > 0) {
        await purgeBodies(Date.now() - bodyHours * hourMs, total)
        await purgeStepContents(Date.now() - bodyHours * hourMs, total)
      }
    } catch (error) {
      ageCheckedAt = -Infinity
      throw error
    }
  }

  async function purgeBodies(before: Timestamp, total: Counts): Promise<void> {
    let isComplete = true
    for (let [from, more] = [lastBodyless, true]; more && !isClosing;) {
      const startedAt = performance.now()
      const step = await store.purgeBodies({ before, from })
      total.bodies += step.count
      ;({ last: from, more } = step)
      // The next check starts before the first body that a waiting event still needs.
      isComplete &&= step.complete
      if (isComplete) lastBodyless = from
      if (more) await rest(startedAt)
    }
  }

  async function purgeStepContents(before: Timestamp, total: Counts): Promise<void> {
    for (let more = true; more && !isClosing;) {
      const startedAt = performance.now()
      const step = await store.purgeStepContents({ before, from: lastEmptyStep })
      total.steps += step.count
      ;({ last: lastEmptyStep, more } = step)
      if (more) await rest(startedAt)
    }
  }

  async function purgeBySize(maxBytes: number, total: Counts): Promise<void> {
    const exceedsLimit = async (): Promise<boolean> => {
      const { bytes, free } = await store.getSpace()
      return maxBytes > 0 && bytes - free > maxBytes
    }
    await purgeWhile(exceedsLimit, Date.now() - minAgeMs, total)
    const wasTooLarge = isTooLarge
    isTooLarge = await exceedsLimit()
    if (isTooLarge && !wasTooLarge && !isClosing)
      log.warn(
        { maxMb: maxBytes / mib },
        'the store is larger than storage.retention.maxMb, but what is left is still needed',
      )
  }

  async function purgeWhile(isNeeded: () => Promise<boolean>, before: Timestamp, total: Counts): Promise<void> {
    let from: PurgePositions | undefined
    while (!isClosing && (await isNeeded())) {
      const startedAt = performance.now()
      const { counts, next } = await store.purge({ before, from })
      for (const [kind, count] of Object.entries(counts)) total[kind as keyof typeof counts] += count
      if (!next) return
      from = next
      await rest(startedAt)
    }
  }

  async function reclaimFreeSpace(): Promise<void> {
    const maxBytes = limits().maxMb * mib
    for (let previousBytes = Infinity; !isClosing;) {
      const startedAt = performance.now()
      const { bytes, free } = await store.getSpace()
      const excess = Math.max(free - bytes * maxFreeShare, maxBytes > 0 ? Math.min(free, bytes - maxBytes) : 0)
      // The engine may not be able to return all of it.
      if (excess <= 0 || bytes >= previousBytes) return
      previousBytes = bytes
      await store.reclaimSpace(Math.min(excess, reclaimStepBytes))
      await rest(startedAt)
    }
  }

  return {
    start: check,
    notify: () => {
      ageCheckedAt = -Infinity
      check()
    },
    close: async () => {
      isClosing = true
      clearTimeout(timer)
      await lastCheck
    },
  }
}

type Counts = PurgeResult['counts'] & { bodies: number; steps: number }

/** Waits as long as the step took, so that half of the store's time is left to other callers. */
const rest = (startedAt: number): Promise<void> => delay(performance.now() - startedAt)
