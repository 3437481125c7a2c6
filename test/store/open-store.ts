// Opens a store as the gateway does, and waits until it is open.
import { openStore as startOpening, type StoreOptions } from '../../core/store/open.ts'
import type { Store } from '../../core/store/store.ts'

export async function openStore(options: StoreOptions): Promise<Store> {
  const { store, opened } = startOpening(options)
  try {
    await opened
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}
