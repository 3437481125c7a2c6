// Shows that the agent is typing while a run answers a message of a channel.
import { describeThrown } from '../errors.ts'
import type { Json, Log } from '../plugin/plugin.ts'
import type { StoredRun } from '../store/store.ts'
import type { Connections } from './connections/connections.ts'

export interface Typing {
  /** Shows it in the conversation of a run, where there is one, until `work` ends. */
  during<Result>(run: Pick<StoredRun, 'kind' | 'spec'>, work: () => Promise<Result>): Promise<Result>
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

  /** A channel that fails to show it must not disturb the run. */
  async function show({ channel, accountId, to, route }: Conversation, isOn: boolean): Promise<void> {
    try {
      await connections.get(channel, accountId)?.connection?.typing?.(to, isOn, route)
    } catch (error) {
      log.debug({ channel, accountId, ...describeThrown(error) }, 'typing could not be shown')
    }
  }

  /** @returns a function that ends it */
  function start(conversation: Conversation): () => void {
    const { channel, accountId, to } = conversation
    const key = JSON.stringify([channel, accountId, to])
    let last: Promise<void> | undefined
    let isPending = false
    let timer: NodeJS.Timeout
    const refresh = (): void => {
      const wait = waitMs(key)
      if (wait === 0 && !isPending) {
        shownAt.set(key, performance.now())
        isPending = true
        last = show(conversation, true).finally(() => (isPending = false))
      }
      timer = setTimeout(refresh, wait || everyMs).unref()
    }
    refresh()
    return () => {
      clearTimeout(timer)
      void last?.then(() => show(conversation, false))
    }
  }

  return {
    async during(run, work) {
      const conversation = conversationOf(run)
      const end = conversation && start(conversation)
      try {
        return await work()
      } finally {
        end?.()
      }
    },
  }
}

interface Conversation {
  channel: string
  accountId: string
  to: string
  route: Json | undefined
}

/** Only who wrote on a channel waits for the answer there. */
function conversationOf({ kind, spec }: Pick<StoredRun, 'kind' | 'spec'>): Conversation | undefined {
  const { channel, to, accountId, route } = spec.deliver ?? {}
  const isKnown = kind === 'channel' && channel !== undefined && to !== undefined && accountId !== undefined
  return isKnown ? { channel, accountId, to, route } : undefined
}
