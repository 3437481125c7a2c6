// Remembers which other gateways use the database, and which messages they want.

export interface Presence {
  /** Records the report of a gateway. @returns false if it was not known, or counted as gone */
  record(sender: string, topics: readonly string[]): boolean
  /** Whether another gateway wants the messages of this topic, or may want them. */
  isWanted(topic: string): boolean
  /** Forgets all gateways, and gives them time to report. */
  reset(): void
}

interface Gateway {
  topics: ReadonlySet<string>
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
    record: (sender, topics) => {
      const now = performance.now()
      for (const [id, { goneAt }] of gateways) if (goneAt <= now) gateways.delete(id)
      const isKnown = gateways.has(sender)
      gateways.set(sender, { topics: new Set(topics), goneAt: now + lifetimeMs })
      return isKnown
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
