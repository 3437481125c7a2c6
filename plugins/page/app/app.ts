// What every view uses: the API, the live connection, the address, the session, messages and shortcuts.
import { effect, type ReadonlySignal, signal } from '@preact/signals'
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { ApiError, type Call, createClient } from '../api/client.ts'
import { createKeys, type Keys } from './keys.ts'
import { createLive, type Live, socketUrl } from './live.ts'
import { createRouter, type Router } from './router.ts'
import { createSession, findTabStorage, type Session } from './session.ts'
import { createToasts, type Toasts } from './toasts.ts'

export interface App {
  call: Call
  live: Live
  router: Router
  session: Session
  toasts: Toasts
  keys: Keys
  /** What views keep while the reader is in another one, by their names. Signing out ends it. */
  kept: Map<string, unknown>
  /** The time, for relative times. It advances every few seconds. */
  now: ReadonlySignal<number>
}

const tickMs = 5_000

export function createApp(): App {
  const base = new URL('.', location.href).href
  const session = createSession(findTabStorage(), location.pathname)
  const credential = (): string | undefined => session.credential.peek()
  const onUnauthorized = (): void =>
    session.signOut('The gateway no longer accepts the credential of this tab. Sign in again.')
  const kept = new Map<string, unknown>()
  effect(() => {
    if (session.credential.value === undefined) kept.clear()
  })
  const now = signal(Date.now())
  setInterval(() => void (now.value = Date.now()), tickMs)
  return {
    call: createClient({ base, credential, onUnauthorized }),
    live: createLive({ url: socketUrl(base), credential, onUnauthorized }),
    router: createRouter(window),
    session,
    toasts: createToasts(),
    keys: createKeys(document),
    kept,
    now,
  }
}

export const AppContext = createContext<App | undefined>(undefined)

export function useApp(): App {
  const app = useContext(AppContext)
  if (!app) throw new Error('The component is outside of the page.')
  return app
}

/** What to show the reader of an error. */
export function messageOf(error: unknown): string {
  if (error instanceof ApiError || error instanceof Error) return error.message
  return 'Something went wrong.'
}
