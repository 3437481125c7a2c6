// The log as a stream: clients subscribe to its lines, which hold no secret.
import type { Log } from '../../plugin.ts'
import { createFeed, type Feed } from '../../store/feed.ts'

export interface LogRecord {
  /** ISO 8601, UTC. */
  at: string
  level: keyof Log
  /** The part of the gateway that wrote it. */
  component: string
  message: string
  fields: object
}

interface LogStreamDeps {
  logFor(component: string): Log
  /** The least level that is heard. */
  level: string
  /** Takes secrets out of a text. */
  redact(text: string): string
}

export interface TappedLog {
  logFor(component: string): Log
  feed: Feed<LogRecord>
  setLevel(level: string): void
}

const levels = ['debug', 'info', 'warn', 'error'] as const

/** The same logs, and the feed that hears them. None of their calls throws, whatever is logged and whoever listens. */
export function createLogStream({ logFor, level, redact }: LogStreamDeps): TappedLog {
  const feed = createFeed<LogRecord>()
  let heard = levelsFrom(level)

  const publish = (line: Omit<LogRecord, 'at'>): void =>
    feed.publish(plainCopy({ at: new Date().toISOString(), ...line }, redact))

  const tapped = (component: string): Log => {
    const log = logFor(component)
    const at =
      (level: keyof Log): Log[typeof level] =>
      (fields, message) => {
        quietly(() => log[level](fields, message))
        if (heard.has(level) && feed.hasSubscribers()) quietly(() => publish({ level, component, message, fields }))
      }
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  }

  return { logFor: tapped, feed, setLevel: (level) => void (heard = levelsFrom(level)) }
}

function quietly(write: () => void): void {
  try {
    write()
  } catch {
    // The line is lost; the work that it tells of goes on.
  }
}

/** `trace` lets through what `debug` does; above `error` nothing of ours is left. */
function levelsFrom(level: string): ReadonlySet<string> {
  if (level === 'trace') return new Set(levels)
  const from = (levels as readonly string[]).indexOf(level)
  return new Set(from === -1 ? [] : levels.slice(from))
}

/** What JSON makes of a line, every string in it redacted. Fields that do not fit into JSON are left out. */
function plainCopy(line: LogRecord, redact: (text: string) => string): LogRecord {
  const redactLeaf = (_key: string, value: unknown): unknown => (typeof value === 'string' ? redact(value) : value)
  const copy = (given: LogRecord): LogRecord => JSON.parse(JSON.stringify(given, redactLeaf)) as LogRecord
  try {
    return copy(line)
  } catch {
    return copy({ ...line, fields: {} })
  }
}
