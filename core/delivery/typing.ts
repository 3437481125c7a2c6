// Shows that the agent is typing while a run answers a message of a channel.
import { describeError } from '../errors.ts'
import type { Log } from '../plugin.ts'
import type { StoredRun } from '../store/store.ts'
import type { Connections } from './connections.ts'

export interface Typing {
  /** Shows it in the conversation of a run, where there is one. @returns a function that ends it */
  start(run: Pick<StoredRun, 'kind' | 'spec'>): () => void
}

interface TypingDeps {
  connections: Pick<Connections, 'get'>
  log: Log
  /** Platforms show it for about five seconds and limit how often they are called. */
  everyMs?: number
}

export function createTyping({ connections, log, everyMs = 4_000 }: TypingDeps): Typing {
  /** When each conversation was last shown as typing: runs may follow each other at once. */
  const shownAt = new Map<string, number>()

  /** Milliseconds until it may be shown again. */
  function waitMs(conversation: string): number {
    for (const [key, at] of shownAt) if (performance.now() - at >= everyMs) shownAt.delete(key)
    return Math.max(0, (shownAt.get(conversation) ?? -everyMs) + everyMs - performance.now())
  }

  return {
    start({ kind, spec }) {
      const { channel, to, accountId } = spec.deliver ?? {}
      if (kind !== 'channel' || channel === undefined || to === undefined || accountId === undefined)
        return () => undefined
      const conversation = JSON.stringify([channel, accountId, to])
      let last: Promise<void> | undefined
      let isPending = false

      /** A channel that fails to show it must not disturb the run. */
      const show = async (isOn: boolean): Promise<void> => {
        try {
          await connections.get(channel, accountId)?.connection?.typing?.(to, isOn)
        } catch (error) {
          log.debug({ channel, accountId, ...describeError(error) }, 'typing could not be shown')
        }
      }
      const refresh = (): void => {
        const wait = waitMs(conversation)
        if (wait === 0 && !isPending) {
          shownAt.set(conversation, performance.now())
          isPending = true
          last = show(true).finally(() => (isPending = false))
        }
        timer = setTimeout(refresh, wait || everyMs).unref()
      }
      let timer: NodeJS.Timeout
      refresh()
      return () => {
        clearTimeout(timer)
        void last?.then(() => show(false))
      }
    },
  }
}
