// Collects messages and puts as many into each notification as fit.

export interface Message {
  /** The name of its topic. */
  topic: string
  item: unknown
}

export interface MessageBatch {
  /** Adds a message, unless the batch has the same one. */
  add(message: Message): void
  /** Returns the messages of each notification as JSON, and begins again. */
  take(): string[]
}

/** A notification holds less than 8,000 bytes, and encryption adds a third. A larger message is not sent. */
const maxBytes = 5_800
/** Further messages are dropped: they are only hints. */
const maxMessages = 5_000

export function createMessageBatch(): MessageBatch {
  let texts = new Set<string>()
  return {
    add: (message) => {
      if (texts.size < maxMessages) texts.add(JSON.stringify(message))
    },
    take: () => {
      const lists = toPayloads(texts)
      texts = new Set()
      return lists
    },
  }
}

function toPayloads(texts: Iterable<string>): string[] {
  const lists: string[] = []
  let current: string[] = []
  let bytes = 2
  const add = (): void => {
    if (current.length > 0) lists.push(`[${current.join(',')}]`)
    current = []
    bytes = 2
  }
  for (const text of texts) {
    const size = Buffer.byteLength(text) + 1
    if (size > maxBytes) continue
    if (bytes + size > maxBytes) add()
    current.push(text)
    bytes += size
  }
  add()
  return lists
}
