// Downloads the files of messages: up to a size and a time, and only a few at once in the whole process.
import { withDeadline } from '../../deadline.ts'
import type { Attachment } from '../../plugin/plugin.ts'
import { readBytes } from '../../kit/read-bytes.ts'

export interface Downloads {
  /** Rejects with a `TooLargeError` as soon as the file turns out to be larger than `maxAttachmentBytes`. */
  download(read: NonNullable<Attachment['read']>): Promise<Uint8Array>
}

interface DownloadsOptions {
  /** How long a download may wait for others, and how long it may take afterwards. */
  limitMs?: number
  /** A file is held in memory until it is stored, so this limits the memory that files take. */
  maxAtOnce?: number
}

/** Largest file that is stored, in bytes. */
export const maxAttachmentBytes = 20 * 1024 * 1024

export function createDownloads({ limitMs = 60_000, maxAtOnce = 4 }: DownloadsOptions = {}): Downloads {
  const slots = createSlots(maxAtOnce)
  const limit = { ms: limitMs, reason: () => new Error(`The download did not end within ${limitMs} ms.`) }
  return {
    async download(read) {
      const ended = new AbortController()
      await withDeadline(limit, slots.take)
      try {
        return await withDeadline(limit, async (late) => {
          const signal = AbortSignal.any([late, ended.signal])
          return await readBytes(await read(signal), maxAttachmentBytes, signal)
        })
      } finally {
        ended.abort()
        slots.release()
      }
    },
  }
}

/** At most `count` holders at once; the others wait in the order in which they came. */
function createSlots(count: number) {
  const waiting = new Set<() => void>()
  let free = count
  return {
    /** Rejects never. After an abort, no slot is taken. */
    async take(signal: AbortSignal): Promise<void> {
      if (free > 0) return void free--
      await new Promise<void>((resolve) => {
        waiting.add(resolve)
        signal.addEventListener('abort', () => waiting.delete(resolve), { once: true })
      })
    },
    release(): void {
      const [next] = waiting
      if (!next) return void free++
      waiting.delete(next)
      next()
    },
  }
}
