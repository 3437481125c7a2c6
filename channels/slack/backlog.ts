// Reads what was written while the account was not connected: Slack repeats an event only for a few minutes, if at all.
import { setTimeout as delay } from 'node:timers/promises'
import type { WebClient } from '@slack/web-api'
import type { ChannelContext } from 'svc-gateway/plugin'
import { toUnsent } from './errors.ts'
import { pagesOf } from './pages.ts'

interface BacklogDeps {
  web: WebClient
  context: Pick<ChannelContext, 'log' | 'signal' | 'state'>
  /** Handles a message as if it were a new event. */
  onEvent(event: object): Promise<void>
}

/** A message of a conversation's history; only what is read here. */
interface PastMessage {
  ts?: string
  latest_reply?: string
}

interface Conversation {
  id?: string
  is_im?: boolean
  is_mpim?: boolean
}

/** The `ts` of the newest message that was handled. */
const cursorName = 'cursor'
/** Messages may arrive out of order by this much. The gateway ignores those that it knows. */
const overlapSeconds = 10
/** How old the first message of a thread may be whose replies are read. */
const threadSeconds = 24 * 60 * 60
/** How long to wait if Slack limits the rate but does not say for how long. */
const pauseMs = 30_000

export function createBacklog({ web, context, onEvent }: BacklogDeps) {
  const stop = new AbortController()
  let newest = ''
  let isCaughtUp = false
  let done: Promise<void> = Promise.resolve()

  async function catchUp(): Promise<void> {
    const cursor = await context.state.get(cursorName)
    if (typeof cursor === 'string') await readSince(Number(cursor) - overlapSeconds)
    isCaughtUp = true
    await context.state.set(cursorName, newest || (cursor ?? String(Date.now() / 1000)))
  }

  function reportFailure(error: unknown): void {
    if (stop.signal.aborted || context.signal.aborted) return
    const reason = toUnsent(error).detail
    context.log.warn({ reason }, 'missed messages could not be read; they are read after the next connect')
  }

  async function readSince(since: number): Promise<void> {
    for (const conversation of await listConversations()) {
      try {
        const messages = await listMessages(conversation.channel, since)
        for (const message of messages) await onEvent({ ...message, ...conversation })
      } catch (error) {
        const result = toUnsent(error)
        const isClosed = result.outcome === 'failed' && result.reason === 'permanent'
        if (!isClosed) throw error
      }
    }
  }

  async function listConversations() {
    const found: Conversation[] = []
    const options = { types: 'im,mpim,public_channel,private_channel', exclude_archived: true }
    const pages = pagesOf((page) => patiently(() => web.users.conversations({ ...options, ...page })))
    for await (const { channels = [] } of pages) found.push(...(channels as Conversation[]))
    return found.flatMap(({ id, is_im, is_mpim }) =>
      id === undefined ? [] : [{ channel: id, channel_type: is_im ? 'im' : is_mpim ? 'mpim' : 'channel' }],
    )
  }

  /** The messages of a conversation and of its recent threads since a time, oldest first. */
  async function listMessages(channel: string, since: number): Promise<PastMessage[]> {
    const isNew = ({ ts }: PastMessage) => Number(ts) > since
    const found: PastMessage[] = []
    const threads: string[] = []
    const oldest = String(since - threadSeconds)
    const pages = pagesOf((page) => patiently(() => web.conversations.history({ channel, oldest, ...page })))
    for await (const { messages = [] } of pages)
      for (const message of messages as PastMessage[]) {
        if (isNew(message)) found.push(message)
        if (message.ts && Number(message.latest_reply) > since) threads.push(message.ts)
      }
    for (const ts of threads) {
      const thread = { channel, ts, oldest: String(since) }
      const replies = pagesOf((page) => patiently(() => web.conversations.replies({ ...thread, ...page })))
      for await (const { messages = [] } of replies)
        found.push(...messages.filter((reply) => isNew(reply) && reply.ts !== ts))
    }
    return found.toSorted((one, other) => Number(one.ts) - Number(other.ts))
  }

  /** Waits as long as Slack asks. */
  async function patiently<Value>(call: () => Promise<Value>): Promise<Value> {
    for (;;) {
      stop.signal.throwIfAborted()
      try {
        return await call()
      } catch (error) {
        const result = toUnsent(error)
        if (result.outcome !== 'failed' || result.reason !== 'rate') throw error
        await delay(result.retryAfterMs ?? pauseMs, undefined, { signal: stop.signal })
      }
    }
  }

  return {
    /** Reads in the background: it may take many calls, and new messages must not wait for them. */
    start(): void {
      done = catchUp().catch(reportFailure)
    },
    /** Moves the cursor to a handled event. It stays where it is while older messages are missing. */
    async note(event: unknown): Promise<void> {
      const ts = (event as PastMessage | undefined)?.ts
      if (typeof ts !== 'string' || !(Number(ts) > Number(newest))) return
      newest = ts
      if (isCaughtUp) await context.state.set(cursorName, newest)
    },
    async close(): Promise<void> {
      stop.abort()
      await done
    },
  }
}
