// When each client was last used: in memory, and at most once a minute in the store, which other gateways share.
import { describeError } from '../errors.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Store, Timestamp } from '../store/store.ts'

export interface ClientUse {
  /** Records that the token of this client was accepted. Nobody waits for it. */
  note(name: string): void
  /** When a token of a client with this name was last accepted, by this gateway or, a minute ago, by another one. */
  find(name: string): Promise<Timestamp | undefined>
}

interface ClientUseDeps {
  store: Pick<Store, 'getState' | 'setState'>
  now?: () => Timestamp
  log: Log
}

const stateOwner = 'client-use'
const saveIntervalMs = 60_000

export function createClientUse({ store, now = Date.now, log }: ClientUseDeps): ClientUse {
  const uses = new Map<string, { at: Timestamp; savedAt: Timestamp }>()

  function save(name: string, at: Timestamp): void {
    store.setState(stateOwner, name, at).catch((error: unknown) => {
      log.warn({ client: name, ...describeError(error) }, 'the last use of a client could not be saved')
    })
  }

  return {
    note(name) {
      const at = now()
      const savedAt = uses.get(name)?.savedAt ?? -Infinity
      // The clock may have been set back.
      const isDue = Math.abs(at - savedAt) >= saveIntervalMs
      uses.set(name, { at, savedAt: isDue ? at : savedAt })
      if (isDue) save(name, at)
    },
    async find(name) {
      const stored = await store.getState(stateOwner, name)
      const known = [uses.get(name)?.at, stored].filter((at) => typeof at === 'number')
      return known.length > 0 ? Math.max(...known) : undefined
    },
  }
}
