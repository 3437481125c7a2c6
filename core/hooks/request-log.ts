// Records requests that started nothing. No caller waits for a record; beyond a limit, records are dropped.
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin/plugin.ts'
import type { NewRefusal, Store } from '../store/store.ts'

export interface RequestLog {
  record(refusal: NewRefusal): void
}

/** Records that may be in progress at once: each holds its body in memory. */
const maxPending = 64

export function createRequestLog({ store, log }: { store: Pick<Store, 'recordRefusal'>; log: Log }): RequestLog {
  let pending = 0
  const outage = createOutage(log, {
    level: 'warn',
    failed: 'rejected requests cannot be recorded',
    worked: 'rejected requests are recorded again',
  })
  return {
    record(refusal) {
      if (pending >= maxPending) return
      pending += 1
      store
        .recordRefusal(refusal, Date.now())
        .then(
          () => void outage.worked(),
          (error: unknown) => outage.failed(error, { requestId: refusal.id }),
        )
        .finally(() => (pending -= 1))
    },
  }
}
