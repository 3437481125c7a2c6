// Notes requests that led to nothing. Nobody waits for a note, and where too many are being written the next ones are dropped.
import type { Log } from '../plugin.ts'
import type { NewRefusal, Store } from '../store/store.ts'

export interface Journal {
  note(refusal: NewRefusal): void
}

/** Notes that may be on their way to the disk: their bodies are held in memory meanwhile. */
const mostAtOnce = 64

export function createJournal({ store, log }: { store: Pick<Store, 'recordRefusal'>; log: Log }): Journal {
  let underWay = 0
  return {
    note(refusal) {
      if (underWay >= mostAtOnce) return
      underWay += 1
      store
        .recordRefusal(refusal, Date.now())
        .catch((error: Error) => log.warn({ deliveryId: refusal.id, error: error.name }, 'a refused delivery could not be noted'))
        .finally(() => (underWay -= 1))
    },
  }
}
