// Notices when the clock of the machine is set back, so that nothing waits for the clock to catch up.
import { describeError } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Store } from './store.ts'
import { notableMs } from './tables/clock.ts'

export interface ClockWatch {
  /** Resolves when what waits has the times of the clock as it is now. */
  start(): Promise<void>
  close(): void
}

interface ClockWatchDeps {
  store: Pick<Store, 'setTimesBack'>
  /** Called when the times of waiting work have changed. */
  onSetBack(): void
  log: Log
}

const everyMs = 1_000

export function createClockWatch({ store, onSetBack, log }: ClockWatchDeps): ClockWatch {
  let timer: NodeJS.Timeout | undefined
  /** By how much the wall clock is ahead of the monotonic one. */
  const readLead = (): number => Date.now() - performance.now()
  let lead = readLead()

  const setBack = async (ms?: number): Promise<void> => {
    const by = await store.setTimesBack(Date.now(), ms)
    if (by === 0) return
    log.warn(
      { seconds: Math.round(by / 1000) },
      'the clock was set back; what waits for a time waits no longer for that',
    )
    onSetBack()
  }

  const look = (): void => {
    const before = lead
    lead = readLead()
    const ms = Math.round(before - lead)
    if (ms < notableMs) return
    setBack(ms).catch((error: unknown) => {
      log.warn(describeError(error), 'the times of waiting work could not be set back; it is tried again')
      lead += ms
    })
  }

  return {
    start: async () => {
      await setBack()
      lead = readLead()
      timer = setInterval(look, everyMs).unref()
    },
    close: () => clearInterval(timer),
  }
}
