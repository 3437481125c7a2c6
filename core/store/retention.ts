// Retention: purges records that are older than the retention limits, or that make the store larger than its limit, in
// small steps.
import { setTimeout as delay } from 'node:timers/promises'
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin/plugin.ts'
import type { PurgePositions, PurgeResult, Store, Timestamp, UsageKey } from './store.ts'

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
  /** How many days the usage of models is kept, and 0 keeps it forever. That of sessions is kept as long as runs. */
  usageDays: number
  /** The maximum size of the store in MiB; 0: unlimited. */
  maxMb: number
  /** How many days entries of the audit log are kept; 0: forever. The size limit purges none. */
  auditDays: number
}

interface RetentionDeps {
  store: Pick<
    Store,
    | 'purge'
    | 'purgeBodies'
    | 'purgeStepContents'
    | 'purgeUsage'
    | 'purgeBudgetUsage'
    | 'purgeAudit'
    | 'getSpace'
    | 'reclaimSpace'
  >
  limits: () => RetentionLimits
  log: Log
}

const hourMs = 60 * 60 * 1000
const dayMs = 24 * hourMs
const mib = 1024 * 1024
/** Longer than the longest window of a budget, of which earlier ones are not read. */
const longestWindowMs = 400 * dayMs
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
  /** No request up to this one has a body that can be deleted, and no step up to this one contents. */
  const emptyUpTo = { bodies: 0, steps: 0 }
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
    const total = { requests: 0, runs: 0, deliveries: 0, events: 0, sessions: 0, bodies: 0, steps: 0, audit: 0 }
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
    const { days, bodyHours, usageDays, auditDays } = limits()
    try {
      if (days > 0) await purgeWhile(async () => true, Date.now() - days * dayMs, total)
      if (bodyHours > 0) {
        await purgeContents('bodies', Date.now() - bodyHours * hourMs, total)
        await purgeContents('steps', Date.now() - bodyHours * hourMs, total)
      }
      const daysAgo = (number: number): Timestamp => (number > 0 ? Date.now() - number * dayMs : 0)
      const usage = { before: daysAgo(usageDays), sessionsBefore: daysAgo(days) }
      await repeat(async () => (await store.purgeUsage(usage)) > 0)
      await purgeBudgetUsage(Date.now() - longestWindowMs)
      if (auditDays > 0) await purgeAudit(Date.now() - auditDays * dayMs, total)
    } catch (error) {
      ageCheckedAt = -Infinity
      throw error
    }
  }

  async function purgeContents(kind: 'bodies' | 'steps', before: Timestamp, total: Counts): Promise<void> {
    const purge = kind === 'bodies' ? store.purgeBodies : store.purgeStepContents
    let isComplete = true
    let from = emptyUpTo[kind]
    await repeat(async () => {
      const step = await purge({ before, from })
      total[kind] += step.count
      from = step.last
      // The next check starts before the first body that a waiting event still needs, or step that has not ended.
      isComplete &&= step.complete
      if (isComplete) emptyUpTo[kind] = from
      return step.more
    })
  }

  async function purgeBudgetUsage(before: Timestamp): Promise<void> {
    let after: UsageKey | undefined
    await repeat(async () => {
      after = await store.purgeBudgetUsage({ before, after })
      return after !== undefined
    })
  }

  const purgeAudit = (before: Timestamp, total: Counts): Promise<void> =>
    repeat(async () => {
      const step = await store.purgeAudit({ before })
      total.audit += step.count
      return step.more
    })

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
    await repeat(async () => {
      if (!(await isNeeded())) return false
      const { counts, next } = await store.purge({ before, from })
      for (const [kind, count] of Object.entries(counts)) total[kind as keyof typeof counts] += count
      from = next
      return next !== undefined
    })
  }

  async function reclaimFreeSpace(): Promise<void> {
    const maxBytes = limits().maxMb * mib
    let previousBytes = Infinity
    await repeat(async () => {
      const { bytes, free } = await store.getSpace()
      const excess = Math.max(free - bytes * maxFreeShare, maxBytes > 0 ? Math.min(free, bytes - maxBytes) : 0)
      // The engine may not be able to return all of it.
      if (excess <= 0 || bytes >= previousBytes) return false
      previousBytes = bytes
      await store.reclaimSpace(Math.min(excess, reclaimStepBytes))
      return true
    })
  }

  /** Repeats a step while it returns true, and rests as long as it took: half of the store's time is left to others. */
  async function repeat(step: () => Promise<boolean>): Promise<void> {
    while (!isClosing) {
      const startedAt = performance.now()
      if (!(await step())) return
      await delay(performance.now() - startedAt)
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

type Counts = PurgeResult['counts'] & { bodies: number; steps: number; audit: number }
