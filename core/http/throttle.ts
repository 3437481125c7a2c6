// Counts failed attempts per client in a sliding window and locks clients out, in bounded memory.
export interface ThrottleLimits {
  maxAttempts: number
  windowMs: number
  lockoutMs: number
}

export interface ThrottleOptions {
  /** Returns the current limits, which a reload may change. Undefined: failures are not counted. */
  limits: () => ThrottleLimits | undefined
  /** Monotonic milliseconds. */
  now?: () => number
  /** How many clients are tracked at least, failing and locked out each. Beyond that the oldest are dropped. */
  maxClients?: number
}

export interface Throttle {
  /** Returns the whole seconds until the client may try again, or 0 when it is not locked out. */
  lockoutSeconds(key: string): number
  /** Counts a failure. The one that reaches `maxAttempts` within the window locks the client out. */
  recordFailure(key: string): void
  /** Deletes the client's failures and its lockout. */
  clear(key: string): void
}

export function createThrottle({
  limits,
  now = () => performance.now(),
  maxClients = 10_000,
}: ThrottleOptions): Throttle {
  // Two tables: a flood of addresses that fail once each can push out other failures, but never a lockout.
  const failures = createTable<number[]>(maxClients)
  const lockedUntil = createTable<number>(maxClients)

  function lockoutSeconds(key: string): number {
    const until = lockedUntil.get(key)
    if (until === undefined) return 0
    const remainingMs = until - now()
    if (remainingMs <= 0) lockedUntil.delete(key)
    return remainingMs <= 0 ? 0 : Math.ceil(remainingMs / 1000)
  }

  function recordFailure(key: string): void {
    const current = limits()
    if (!current || lockoutSeconds(key) > 0) return
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

  return { lockoutSeconds, recordFailure, clear }
}

/**
 * Holds at least the newest `size` entries and at most twice as many: when the newer half is full, the older is
 * dropped.
 */
function createTable<Value>(size: number) {
  let newer = new Map<string, Value>()
  let older = new Map<string, Value>()
  return {
    get: (key: string): Value | undefined => newer.get(key) ?? older.get(key),
    set(key: string, value: Value): void {
      newer.set(key, value)
      if (newer.size < size) return
      older = newer
      newer = new Map()
    },
    delete(key: string): boolean {
      const wasNewer = newer.delete(key)
      return older.delete(key) || wasNewer
    },
  }
}
