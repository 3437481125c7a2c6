// The life of a process that serves: what it has opened, and its end in good order, at whatever moment a signal or an
// error ends it.
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { describeError } from '../errors.ts'

export interface Life {
  /** Aborts when the process is to end: a start that is under way ends then. */
  signal: AbortSignal
  /** Closed at the end, the last first. */
  opened: AsyncDisposableStack
  /** From now on the end is logged, and waits as long as the configuration says. */
  configured(settings: Settings): void
  /** The start is over, whatever came of it. */
  started(): void
  /** Closes what was opened; from now on a signal ends the process at once. */
  close(): Promise<void>
}

interface Settings {
  log: Logger
  drainSeconds: number
}

/** What the gateway gives itself beyond its drain time. */
const graceSeconds = 5

/** SIGTERM and SIGINT let running work finish, also while the process starts; a second one ends at once. */
export function createLife(): Life {
  const opened = new AsyncDisposableStack()
  const stop = new AbortController()
  const start = Promise.withResolvers<void>()
  let settings: Settings | undefined

  // What a plugin left unhandled must not end everybody else's work.
  process.on('unhandledRejection', (error) =>
    settings?.log.error(describeError(error), 'a promise was rejected and nobody handled it'),
  )
  const ending = closeWithGrace(
    { delay: false, logger: false, skip: ['unhandledRejection', 'SIGHUP'] },
    async ({ signal, err }) => {
      if (err) settings?.log.fatal({ error: err.name, stack: err.stack }, 'stopping after an error')
      else settings?.log.info({ signal }, 'stopping')
      setTimeout(() => process.exit(1), ((settings?.drainSeconds ?? 0) + graceSeconds) * 1000).unref()
      stop.abort()
      await start.promise
      await opened.disposeAsync()
      settings?.log.info({}, 'stopped')
    },
  )

  return {
    signal: stop.signal,
    opened,
    configured: (given) => void (settings = given),
    started: start.resolve,
    close: async () => {
      if (!stop.signal.aborted) ending.uninstall()
      await opened.disposeAsync()
    },
  }
}
