// Notes requests that led to nothing. Nobody waits for a record, and where too many are being written the next ones are
// dropped.
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin.ts'
import type { NewRefusal, Store } from '../store/store.ts'

export interface RequestLog {
  record(refusal: NewRefusal): void
}

/** Notes that may be on their way to the disk: their bodies are held in memory meanwhile. */
const mostAtOnce = 64

export function createRequestLog({ store, log }: { store: Pick<Store, 'recordRefusal'>; log: Log }): RequestLog {
  let underWay = 0
  const outage = createOutage(log, {
    level: 'warn',
    failed: 'a refused request could not be noted',
    worked: 'refused requests are noted again',
  })
  return {
    record(refusal) {
      if (underWay >= mostAtOnce) return
      underWay += 1
      store
        .recordRefusal(refusal, Date.now())
        .then(
          () => void outage.worked(),
          (error: unknown) => outage.failed(error, { requestId: refusal.id }),
        )
        .finally(() => (underWay -= 1))
    },
  }
}
