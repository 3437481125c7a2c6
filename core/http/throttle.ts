// Counts failed attempts per client in a sliding window and locks a client out for a while; its memory is bounded.
export interface ThrottleLimits {
  maxAttempts: number
  windowMs: number
  lockoutMs: number
}

export interface ThrottleOptions {
  /** The limits in force, which a new configuration may change; undefined: failures are not counted. */
  limits: () => ThrottleLimits | undefined
  /** Monotonic milliseconds. */
  now?: () => number
  /** How many clients are remembered for sure, failing and locked each; beyond that the oldest are forgotten. */
  maxClients?: number
}

export interface Throttle {
  /** Seconds until the client may try again (for Retry-After, ≥ 1), or 0 when it is not locked out. */
  lockedFor(key: string): number
  /** Counts a failure; the one that reaches `maxAttempts` within the window locks the client out from then on. */
  fail(key: string): void
  /** Forgets the client's failures and its lock. */
  clear(key: string): void
}

export function createThrottle({
  limits,
  now = () => performance.now(),
  maxClients = 10_000,
}: ThrottleOptions): Throttle {
  // Two tables: a flood of addresses that fail once each can push out other failures, never a lock.
  const failures = createTable<number[]>(maxClients)
  const lockedUntil = createTable<number>(maxClients)

  function lockedFor(key: string): number {
    const until = lockedUntil.get(key)
    if (until === undefined) return 0
    const left = until - now()
    if (left <= 0) lockedUntil.delete(key)
    return left <= 0 ? 0 : Math.ceil(left / 1000)
  }

  function fail(key: string): void {
    const current = limits()
    if (!current || lockedFor(key) > 0) return
    const { maxAttempts, windowMs, lockoutMs } = current
    const time = now()
    const recent = (failures.get(key) ?? []).filter((at) => at > time - windowMs)
    recent.push(time)
    failures.delete(key)
    if (recent.length < maxAttempts) failures.set(key, recent)
    else lockedUntil.set(key, time + lockoutMs)
  }

  function clear(key: string): void {
    failures.delete(key)
    lockedUntil.delete(key)
  }

  return { lockedFor, fail, clear }
}

/**
 * Keeps the newest `size` entries at least and twice as many at most: when the young half is full, the old half goes.
 */
function createTable<Value>(size: number) {
  let young = new Map<string, Value>()
  let old = new Map<string, Value>()
  return {
    get: (key: string): Value | undefined => young.get(key) ?? old.get(key),
    set(key: string, value: Value): void {
      young.set(key, value)
      if (young.size < size) return
      old = young
      young = new Map()
    },
    delete(key: string): void {
      young.delete(key)
      old.delete(key)
    },
  }
}
