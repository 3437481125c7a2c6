// Retention: looks now and then whether anything is older, or takes more room, than the operator wants, and has it
// purged in small steps.
import { setTimeout as delay } from 'node:timers/promises'
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin.ts'
import type { PurgeResult, PurgePositions, Store, Timestamp } from './store.ts'

export interface Retention {
  /** Looks now, and from then on again and again. */
  start(): void
  /** The limits may have changed. */
  notify(): void
  /** Ends after the step that is under way; the next start goes on. */
  close(): Promise<void>
}

export interface RetentionLimits {
  /** How long what is over is kept, in days; 0: for good. */
  days: number
  /** How long bodies of requests are kept, in hours; 0: as long as the requests. */
  bodyHours: number
  /** The size that the store is kept below, in MiB; 0: any. */
  maxMb: number
}

interface RetentionDeps {
  store: Pick<Store, 'purge' | 'purgeBodies' | 'getSpace' | 'reclaimSpace'>
  limits: () => RetentionLimits
  log: Log
}

const [hourMs, dayMs, mib] = [60 * 60 * 1000, 24 * 60 * 60 * 1000, 1024 * 1024]
/** Between two looks at the size, and at the age. */
const [lookMs, sweepMs] = [30_000, hourMs]
/** However little room there is: whoever has just been answered may still ask what became of it. */
const youngMs = 60_000
/** The part of the store that may be free: what is given back today would have to be asked for again tomorrow. */
const spareShare = 0.1
const givenBackAtOnce = 2 * mib

export function createRetention({ store, limits, log }: RetentionDeps): Retention {
  let turn = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let sweptAt = -Infinity
  let crowded = false
  /** No request up to this one has a body left to delete. */
  let bodyless = 0
  let closing = false
  const outage = createOutage(log, {
    failed: 'could not purge old records; it is tried again',
    worked: 'old records can be forgotten again',
  })

  const look = (): void => {
    turn = turn
      .then(sweep)
      .then(() => void outage.worked(), outage.failed)
      .then(lookLater)
  }
  const lookLater = (): void => {
    clearTimeout(timer)
    if (!closing) timer = setTimeout(look, lookMs).unref()
  }

  async function sweep(): Promise<void> {
    const total = { requests: 0, runs: 0, deliveries: 0, events: 0, sessions: 0, bodies: 0 }
    try {
      await purgeOld(total)
      await purgeBeyond(limits().maxMb * mib, total)
    } finally {
      if (Object.values(total).some((count) => count > 0)) log.info(total, 'old records were purged')
    }
    await giveBack()
  }

  async function purgeOld(total: Counts): Promise<void> {
    if (performance.now() < sweptAt + sweepMs) return
    // Set before it begins: whoever changes the limits meanwhile has all of it looked at again.
    sweptAt = performance.now()
    const { days, bodyHours } = limits()
    try {
      if (days > 0) await purgeWhile(async () => true, Date.now() - days * dayMs, total)
      if (bodyHours > 0) await purgeBodies(Date.now() - bodyHours * hourMs, total)
    } catch (error) {
      sweptAt = -Infinity
      throw error
    }
  }

  async function purgeBodies(before: Timestamp, total: Counts): Promise<void> {
    let isComplete = true
    for (let [from, more] = [bodyless, true]; more && !closing;) {
      const begun = performance.now()
      const step = await store.purgeBodies({ before, from })
      total.bodies += step.count
      ;({ last: from, more } = step)
      // What a waiting event needs is looked for again next time.
      isComplete &&= step.complete
      if (isComplete) bodyless = from
      if (more) await rest(begun)
    }
  }

  async function purgeBeyond(most: number, total: Counts): Promise<void> {
    const isBeyond = async (): Promise<boolean> => {
      const { bytes, free } = await store.getSpace()
      return most > 0 && bytes - free > most
    }
    await purgeWhile(isBeyond, Date.now() - youngMs, total)
    const wasCrowded = crowded
    crowded = await isBeyond()
    if (crowded && !wasCrowded && !closing)
      log.warn(
        { maxMb: most / mib },
        'the store is larger than storage.retention.maxMb, but what is left is still needed',
      )
  }

  async function purgeWhile(wanted: () => Promise<boolean>, before: Timestamp, total: Counts): Promise<void> {
    let from: PurgePositions | undefined
    while (!closing && (await wanted())) {
      const begun = performance.now()
      const { counts, next } = await store.purge({ before, from })
      for (const [kind, count] of Object.entries(counts)) total[kind as keyof typeof counts] += count
      if (!next) return
      from = next
      await rest(begun)
    }
  }

  async function giveBack(): Promise<void> {
    const most = limits().maxMb * mib
    for (let left = Infinity; !closing;) {
      const begun = performance.now()
      const { bytes, free } = await store.getSpace()
      const excess = Math.max(free - bytes * spareShare, most > 0 ? Math.min(free, bytes - most) : 0)
      // The engine may not be able to part with all of it.
      if (excess <= 0 || bytes >= left) return
      left = bytes
      await store.reclaimSpace(Math.min(excess, givenBackAtOnce))
      await rest(begun)
    }
  }

  return {
    start: look,
    notify: () => {
      sweptAt = -Infinity
      look()
    },
    close: async () => {
      closing = true
      clearTimeout(timer)
      await turn
    },
  }
}

type Counts = PurgeResult['counts'] & { bodies: number }

/** As long as the step has taken: half of the store's time is left to everybody else. */
const rest = (begun: number): Promise<void> => delay(performance.now() - begun)
