// The log as news: what is written into it can be listened to, without any secret.
import { withoutSecrets } from '../config/redaction.ts'
import type { Log } from '../plugin.ts'
import { createFeed, type Feed } from '../store/feed.ts'

export interface LogNews {
  /** ISO 8601, UTC. */
  at: string
  level: keyof Log
  /** The part of the gateway that wrote it. */
  room: string
  message: string
  fields: object
}

interface LogNewsDeps {
  logFor(room: string): Log
  /** The least level that is heard. */
  level: string
  /** Values that must not appear, whatever field or text they end up in. Asked for when somebody first listens. */
  secrets(): readonly string[]
}

const levels = ['debug', 'info', 'warn', 'error'] as const

/** The same logs, and the feed that hears them. */
export function createLogNews({ logFor, level, secrets }: LogNewsDeps): { logFor(room: string): Log; feed: Feed<LogNews> } {
  const feed = createFeed<LogNews>()
  const heard = levelsFrom(level)
  let hidden: readonly string[] | undefined

  const tell = (line: Omit<LogNews, 'at'>): void => {
    hidden ??= secrets()
    const text = stringify({ at: new Date().toISOString(), ...line })
    feed.tell(JSON.parse(withoutSecrets(text, hidden)) as LogNews)
  }

  const tapped = (room: string): Log => {
    const log = logFor(room)
    const at = (level: keyof Log): Log[typeof level] => {
      if (!heard.has(level)) return (fields, message) => log[level](fields, message)
      return (fields, message) => {
        log[level](fields, message)
        if (feed.isHeard()) tell({ level, room, message, fields })
      }
    }
    return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  }

  return { logFor: tapped, feed }
}

/** `trace` lets through what `debug` does; above `error` nothing of ours is left. */
function levelsFrom(level: string): ReadonlySet<string> {
  if (level === 'trace') return new Set(levels)
  const from = (levels as readonly string[]).indexOf(level)
  return new Set(from === -1 ? [] : levels.slice(from))
}

/** Fields that do not fit into JSON are left out: a log must never throw. */
function stringify(line: LogNews): string {
  try {
    return JSON.stringify(line)
  } catch {
    return JSON.stringify({ ...line, fields: {} })
  }
}
