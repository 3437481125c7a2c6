// The credential of this tab. It is kept in the storage of the tab, never in an address or a cookie.
import { type ReadonlySignal, signal } from '@preact/signals'

export interface Session {
  credential: ReadonlySignal<string | undefined>
  /** Why the reader must sign in again. */
  notice: ReadonlySignal<string | undefined>
  signIn(credential: string): void
  signOut(notice?: string): void
}

/** @param path The path of the page: another gateway may have another path on the same host. */
export function createSession(storage: Storage | undefined, path: string): Session {
  const key = `svc-gateway credential ${path}`
  const credential = signal(storage?.getItem(key) ?? undefined)
  const notice = signal<string | undefined>(undefined)
  return {
    credential,
    notice,
    signIn: (given) => {
      storage?.setItem(key, given)
      notice.value = undefined
      credential.value = given
    },
    signOut: (reason) => {
      storage?.removeItem(key)
      notice.value = reason
      credential.value = undefined
    },
  }
}

/** Undefined where the browser blocks storage. The credential is then lost when the tab is reloaded. */
export function findTabStorage(): Storage | undefined {
  try {
    return sessionStorage
  } catch {
    return undefined
  }
}

/** Returns the one-time code of a link, and removes it from the address and from the browser's history. */
export function takeCode({ location, history }: Window): string | undefined {
  const [, code] = /^#code=([\w.-]+)$/.exec(location.hash) ?? []
  if (code !== undefined) history.replaceState(null, '', location.pathname + location.search)
  return code
}
