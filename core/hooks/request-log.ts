// Records requests that started nothing. No caller waits for a record; beyond a limit, records are dropped.
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin/plugin.ts'
import type { NewRefusal, Store } from '../store/store.ts'

export interface RequestLog {
  record(refusal: NewRefusal): void
  /**
   * Records a request whose sender is not authenticated. Of each route, a few are recorded in a minute; one more record
   * at its end counts the others, so that a stranger can neither fill the store nor keep it busy.
   */
  recordStranger(route: string, refusal: NewRefusal): void
  /** Records what was only counted so far. */
  close(): void
}

interface RequestLogDeps {
  store: Pick<Store, 'recordRefusal'>
  /** Removes secrets of the configuration. */
  redact(text: string): string
  log: Log
}

/** Records that may be in progress at once: each holds its body in memory. */
const maxPending = 64
/** So many requests of a route without authentication get a record of their own in this time. */
const [maxStrangers, burstMs] = [5, 60_000]

/** The requests of a route without authentication in one minute. */
interface Burst {
  recorded: number
  /** The last request beyond those, with the number of them. */
  rest?: NewRefusal & { count: number }
  timer: NodeJS.Timeout
}

export function createRequestLog({ store, redact, log }: RequestLogDeps): RequestLog {
  let pending = 0
  const bursts = new Map<string, Burst>()
  const outage = createOutage(log, {
    level: 'warn',
    failed: 'rejected requests cannot be recorded',
    worked: 'rejected requests are recorded again',
  })

  function write(refusal: NewRefusal): void {
    if (pending >= maxPending) return
    pending += 1
    store
      .recordRefusal(refusal, Date.now())
      .then(
        () => void outage.worked(),
        (error: unknown) => outage.failed(error, { requestId: refusal.id }),
      )
      .finally(() => (pending -= 1))
  }

  /** The name of a hook, what the code of a scheme says, and what a transform throws may hold a secret. */
  const record = ({ hook, error, ...refusal }: NewRefusal): void =>
    write({ ...refusal, hook: redact(hook), error: error && redactError(error) })

  const redactError = ({ message, detail, ...error }: NonNullable<NewRefusal['error']>) => ({
    ...error,
    message: redact(message),
    ...(detail !== undefined && { detail: redact(detail) }),
  })

  function begin(route: string): Burst {
    const burst: Burst = { recorded: 0, timer: setTimeout(() => end(route, burst), burstMs).unref() }
    bursts.set(route, burst)
    return burst
  }

  function end(route: string, { rest, timer }: Burst): void {
    clearTimeout(timer)
    bursts.delete(route)
    if (rest) record(rest)
  }

  return {
    record,
    recordStranger(route, refusal) {
      const burst = bursts.get(route) ?? begin(route)
      if (burst.recorded === maxStrangers) burst.rest = { ...refusal, count: (burst.rest?.count ?? 0) + 1 }
      else {
        burst.recorded += 1
        record(refusal)
      }
    },
    close: () => bursts.forEach((burst, route) => end(route, burst)),
  }
}
