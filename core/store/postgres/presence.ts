// Remembers which other gateways use the database, and which messages they want.

export interface Presence {
  /** Records the report of a gateway. @returns false if it was not known, or counted as gone */
  record(sender: string, report: Report): boolean
  /** What the gateways that are there have said of themselves. */
  list(): Self[]
  /** Whether another gateway wants the messages of this topic, or may want them. */
  isWanted(topic: string): boolean
  /** Forgets all gateways, and gives them time to report. */
  reset(): void
}

export interface Self {
  /** Its host and port. */
  name: string
  /** The digest of its configuration. */
  config: string
}

interface Report {
  topics: readonly string[]
  /** Absent until it has started. */
  self?: Self
}

interface Gateway {
  topics: ReadonlySet<string>
  self: Self | undefined
  /** In monotonic milliseconds. */
  goneAt: number
}

interface Times {
  /** How long a report is valid. */
  lifetimeMs: number
  /** How long the others have to report. Until then, they may want everything. */
  introductionMs: number
}

export function createPresence({ lifetimeMs, introductionMs }: Times): Presence {
  const gateways = new Map<string, Gateway>()
  let introducedAt = Infinity
  return {
    record: (sender, { topics, self }) => {
      const now = performance.now()
      for (const [id, { goneAt }] of gateways) if (goneAt <= now) gateways.delete(id)
      const isKnown = gateways.has(sender)
      gateways.set(sender, { topics: new Set(topics), self, goneAt: now + lifetimeMs })
      return isKnown
    },
    list: () => {
      const now = performance.now()
      return gateways
        .values()
        .flatMap(({ self, goneAt }) => (self && goneAt > now ? [self] : []))
        .toArray()
    },
    isWanted: (topic) => {
      const now = performance.now()
      if (now < introducedAt) return true
      return gateways.values().some(({ topics, goneAt }) => topics.has(topic) && goneAt > now)
    },
    reset: () => {
      gateways.clear()
      introducedAt = performance.now() + introductionMs
    },
  }
}
