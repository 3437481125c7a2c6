// Opens stores as the gateway does, and waits until they are open.
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

/** Returns a function that opens one store for all tests that do not close it: opening takes long. */
export function keepOpen(open: () => Promise<Store>): () => Promise<Store> {
  let store: Store | undefined
  return async () => {
    if (store) return store
    const opened = await open()
    const close = async (): Promise<void> => {
      store = undefined
      await opened.close()
    }
    return (store = { ...opened, close })
  }
}
