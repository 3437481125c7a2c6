// What every engine of the store must do.
import { afterEach, beforeEach, describe } from 'vitest'
import type { Store } from '../../core/store/store.ts'
import type { OpenStore } from './open-store.ts'
import { acceptContract } from './store-accept.ts'
import { approvalsContract } from './store-approvals.ts'
import { auditContract } from './store-audit.ts'
import { clockContract } from './store-clock.ts'
import { exposureContract } from './store-exposure.ts'
import { forgetContract } from './store-purge.ts'
import { listsContract } from './store-lists.ts'
import { outboxContract } from './store-outbox.ts'
import { runsContract } from './store-runs.ts'
import { stepsContract } from './store-steps.ts'
import { usageContract } from './store-usage.ts'
import { schedulesContract } from './store-schedules.ts'
import { sessionsContract } from './store-sessions.ts'

/** The place of one store: every `open` finds what the one before has written. */
export interface StoreHome {
  open(): Promise<Store>
  /** Closes the store that was opened last, and deletes what it has written. */
  remove(): Promise<void>
}

export function storeContract(makeHome: () => Promise<StoreHome>): void {
  describe('a store', () => {
    let home: StoreHome
    let store: Store
    const opened: OpenStore = {
      get store() {
        return store
      },
      async reopen() {
        await store.close()
        store = await home.open()
      },
    }

    beforeEach(async () => {
      home = await makeHome()
      store = await home.open()
    })
    afterEach(() => home.remove())

    acceptContract(opened)
    auditContract(opened)
    clockContract(opened)
    runsContract(opened)
    stepsContract(opened)
    usageContract(opened)
    approvalsContract(opened)
    outboxContract(opened)
    schedulesContract(opened)
    sessionsContract(opened)
    listsContract(opened)
    exposureContract(opened)
    forgetContract(opened)
  })
}
