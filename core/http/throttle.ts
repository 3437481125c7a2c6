// Counts failed attempts per client in a sliding window and locks a client out for a while; its memory is bounded.
export interface ThrottleOptions {
  maxAttempts: number
  windowMs: number
  lockoutMs: number
  /** Monotonic milliseconds. */
  now?: () => number
  /** How many clients are remembered, failing and locked each; beyond that the oldest is forgotten. */
  maxClients?: number
}

export interface Throttle {
  /** Seconds until the client may try again (for Retry-After, ≥ 1), or 0 when it is not locked out. */
  lockedFor(key: string): number
  /** Counts a failure; the one that reaches `maxAttempts` within the window locks the client out from then on. */
  fail(key: string): void
  /** Forgets the client's failures and its lock. */
  clear(key: string): void
  /** True when no client has failed lately: nothing to look up, then. */
  isEmpty(): boolean
}

export function createThrottle({ maxAttempts, windowMs, lockoutMs, now = () => performance.now(), maxClients = 10_000 }: ThrottleOptions): Throttle {
  // Two tables: a flood of addresses that fail once each can push out other failures, never a lock.
  const failures = new Map<string, number[]>()
  const lockedUntil = new Map<string, number>()

  function lockedFor(key: string): number {
    const until = lockedUntil.get(key)
    if (until === undefined) return 0
    const left = until - now()
    if (left <= 0) lockedUntil.delete(key)
    return left <= 0 ? 0 : Math.ceil(left / 1000)
  }

  function fail(key: string): void {
    if (lockedFor(key) > 0) return
    const time = now()
    const recent = (failures.get(key) ?? []).filter((at) => at > time - windowMs)
    recent.push(time)
    failures.delete(key)
    if (recent.length < maxAttempts) remember(failures, key, recent)
    else remember(lockedUntil, key, time + lockoutMs)
  }

  function remember<Value>(table: Map<string, Value>, key: string, value: Value): void {
    const oldest = table.size >= maxClients ? table.keys().next() : undefined
    if (oldest?.done === false) table.delete(oldest.value)
    table.set(key, value)
  }

  function clear(key: string): void {
    failures.delete(key)
    lockedUntil.delete(key)
  }

  return { lockedFor, fail, clear, isEmpty: () => failures.size === 0 && lockedUntil.size === 0 }
}
