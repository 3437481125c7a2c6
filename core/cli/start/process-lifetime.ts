// Handles signals and fatal errors of a serving process: closes what was opened, in reverse order, and exits.
import closeWithGrace from 'close-with-grace'
import type { Logger } from 'pino'
import { describeError } from '../../errors.ts'

export interface ProcessLifetime {
  /** Aborts when the process must end. A start that is in progress is then cancelled. */
  signal: AbortSignal
  /** Disposed at the end, in reverse order. */
  opened: AsyncDisposableStack
  /** Sets the log and the drain time, once they are known. */
  configure(settings: Settings): void
  /** Reports that the start has ended, with or without success. A stop waits for this. */
  markStarted(): void
  /** Ends the process as a signal does, unless it is already ending. With an error, its status is 1. */
  end(error?: Error): void
  /** Closes what was opened. From now on a signal ends the process at once. */
  close(): Promise<void>
}

interface Settings {
  log: Logger
  /** Of the configuration in force. */
  drainSeconds(): number
}

/** How much longer than `drainSeconds` a stop may take before the process is ended. */
const graceSeconds = 5

/** SIGTERM and SIGINT let running work finish, also during the start. A second signal ends the process at once. */
export function createProcessLifetime(): ProcessLifetime {
  const opened = new AsyncDisposableStack()
  const stop = new AbortController()
  const start = Promise.withResolvers<void>()
  let settings: Settings | undefined
  let failure: Error | undefined

  // A rejection that a plugin does not handle must not end the work of others.
  process.on('unhandledRejection', (error) =>
    settings?.log.error(describeError(error), 'a promise was rejected and nobody handled it'),
  )
  // It has no meaning here. Without a listener, it would end the process.
  process.on('SIGUSR2', () => settings?.log.info({ signal: 'SIGUSR2' }, 'a signal was ignored'))
  const ending = closeWithGrace(
    { delay: false, logger: false, skip: ['unhandledRejection', 'SIGHUP', 'SIGUSR2'] },
    async ({ signal, err }) => {
      if (err) settings?.log.fatal({ error: err.name, stack: err.stack }, 'stopping after an error')
      else if (failure) settings?.log.fatal(describeError(failure), 'stopping after an error')
      else settings?.log.info({ signal }, 'stopping')
      setTimeout(() => process.exit(1), ((settings?.drainSeconds() ?? 0) + graceSeconds) * 1000).unref()
      stop.abort()
      await start.promise
      await opened.disposeAsync()
      settings?.log.info({}, 'stopped')
      // Ends the process with 1.
      if (failure) throw failure
    },
  )

  return {
    signal: stop.signal,
    opened,
    configure: (given) => void (settings = given),
    markStarted: start.resolve,
    end: (error) => {
      if (stop.signal.aborted) return
      failure = error
      ending.close()
    },
    close: async () => {
      if (!stop.signal.aborted) ending.uninstall()
      await opened.disposeAsync()
    },
  }
}
