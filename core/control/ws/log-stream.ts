// Streams the log to subscribers, without secrets.
import type { Log } from '../../plugin/plugin.ts'
import { createFeed, type Feed } from '../../store/commits/commits.ts'

export interface LogRecord {
  /** ISO 8601, UTC. */
  at: string
  level: keyof Log
  /** The folder of the core that wrote it. */
  component: string
  message: string
  fields: object
}

interface LogStreamDeps {
  logFor(component: string): Log
  /** The lowest level that is streamed. */
  level: string
  /** Removes secrets from a text. */
  redact(text: string): string
}

export interface LogStream {
  logFor(component: string): Log
  feed: Feed<LogRecord>
  setLevel(level: string): void
}

const levels = ['debug', 'info', 'warn', 'error'] as const

/** Wraps the loggers so that their lines also go to a feed. Logging never throws, whatever is logged or subscribed. */
export function createLogStream({ logFor, level, redact }: LogStreamDeps): LogStream {
  const feed = createFeed<LogRecord>()
  let streamedLevels = levelsFrom(level)

  const publish = (line: Omit<LogRecord, 'at'>): void =>
    feed.publish(redactRecord({ at: new Date().toISOString(), ...line }, redact))

  const createTeeLog = (component: string): Log => {
    const log = logFor(component)
    const teeAt =
      (level: keyof Log): Log[typeof level] =>
      (fields, message) => {
        ignoreErrors(() => log[level](fields, message))
        if (streamedLevels.has(level) && feed.hasSubscribers())
          ignoreErrors(() => publish({ level, component, message, fields }))
      }
    return { debug: teeAt('debug'), info: teeAt('info'), warn: teeAt('warn'), error: teeAt('error') }
  }

  return { logFor: createTeeLog, feed, setLevel: (level) => void (streamedLevels = levelsFrom(level)) }
}

function ignoreErrors(write: () => void): void {
  try {
    write()
  } catch {
    // The line is lost, but the work that logged it continues.
  }
}

/** Returns the levels to stream. `trace` means all; levels above `error`, such as `silent`, mean none. */
function levelsFrom(level: string): ReadonlySet<string> {
  if (level === 'trace') return new Set(levels)
  const from = (levels as readonly string[]).indexOf(level)
  return new Set(from === -1 ? [] : levels.slice(from))
}

/** Returns a JSON copy of a record with every string redacted. Omits fields that JSON cannot represent. */
function redactRecord(line: LogRecord, redact: (text: string) => string): LogRecord {
  const redactLeaf = (_key: string, value: unknown): unknown => (typeof value === 'string' ? redact(value) : value)
  const copy = (given: LogRecord): LogRecord => JSON.parse(JSON.stringify(given, redactLeaf)) as LogRecord
  try {
    return copy(line)
  } catch {
    return copy({ ...line, fields: {} })
  }
}
