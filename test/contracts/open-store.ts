// One open store under test.
import type { Store } from '../../core/store/store.ts'

export interface OpenStore {
  readonly store: Store
  /** Closes and opens again: what is there afterwards was on disk. */
  reopen(): Promise<void>
}
