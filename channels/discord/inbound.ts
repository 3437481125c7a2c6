// Hands Discord's messages to the gateway, one after the other, and fetches those that were missed.
import { setTimeout as delay } from 'node:timers/promises'
import type { SessionInfo } from '@discordjs/ws'
import { createSerialQueue, keepLatest } from 'svc-gateway/kit'
import { AuthError, type ChannelContext, type InboundMessage } from 'svc-gateway/plugin'
import { fetchMissed } from './catch-up.ts'
import { type DiscordApi, errorOfFailure, failureOf, refusedToken } from './failure.ts'
import type { GatewayDeps } from './gateway.ts'
import { type DiscordMessage, type Press, readMessage, readPress } from './messages.ts'
import { createPlaces, createRoles, type Place } from './places.ts'
import type { Progress } from './progress.ts'

interface InboundDeps {
  api: DiscordApi
  bot: { id: string; apiRoot: string }
  progress: Progress
  context: Pick<ChannelContext, 'log' | 'lost' | 'receive'>
  /** Aborted when the connection ends. */
  signal: AbortSignal
}

export interface Inbound extends Pick<GatewayDeps, 'onDelivering' | 'onInteraction' | 'onMessage'> {
  /** Resolves when the message in hand is stored or given up. `signal` must be aborted. */
  close(): Promise<void>
}

/** So many wait only if none can be stored. The next connection gets them again. */
const maxWaiting = 1000

/** How long Discord may take to answer to the confirmation of a press. */
const confirmMs = 5000

const firstRetryMs = 250
const longestRetryMs = 30_000

export function createInbound({ api, bot, progress, context, signal }: InboundDeps): Inbound {
  const findPlace = createPlaces(api, signal)
  const findRole = createRoles(api, { botId: bot.id, signal })
  const isNew = createDuplicateFilter()
  const events = createSerialQueue()
  let waiting = 0
  let isFull = false

  /** Order is kept, also when something has to be tried again. */
  function enqueue(work: () => Promise<void>): void {
    if (isFull) return
    isFull = waiting >= maxWaiting
    if (isFull) return context.lost('Too many messages are waiting to be stored.')
    waiting++
    void events
      .add(() => (signal.aborted ? undefined : work()))
      .catch((error: unknown) => {
        if (!signal.aborted)
          context.log.error(
            { reason: errorOfFailure(error, bot.apiRoot).message },
            'a message of Discord could not be read',
          )
      })
      .finally(() => void waiting--)
  }

  async function handOver(data: unknown, session: SessionInfo | undefined): Promise<void> {
    const message = readMessage(data, bot)
    if (!message) return context.log.debug({}, 'an event of Discord is ignored: it is not a message')
    if (!message.isFromPerson || !isNew(message.id)) return
    const place = await untilDone(() => findPlace(message.channelId))
    const result = await context.receive(toInbound(await readRoles(message, place), place))
    await untilDone(() => progress.received({ ...message, isRead: result !== 'ignored', session }))
  }

  /** A mention of the bot's own role is one of the bot. */
  async function readRoles(message: DiscordMessage, { guildId }: Place): Promise<DiscordMessage> {
    if (message.roles.length === 0 || guildId === undefined) return message
    const role = await untilDone(() => findRole(guildId))
    if (role === undefined || !message.roles.includes(role)) return message
    return { ...message, mentioned: true, text: message.text.replaceAll(`<@&${role}>`, '').trim() }
  }

  async function handOverPress(data: unknown): Promise<void> {
    const press = readPress(data)
    if (!press) return context.log.debug({}, 'an interaction of Discord is ignored: it is not the press of a button')
    const place = await untilDone(() => findPlace(press.channelId))
    await context.receive(toInbound({ ...press, mentioned: true, attachments: [] }, place))
    await confirm(press)
  }

  /** Without it, Discord says after three seconds that the interaction has failed. */
  async function confirm({ id, token }: Press): Promise<void> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(confirmMs)])
    try {
      await api.interactions.deferMessageUpdate(id, token, undefined, { signal: deadline })
    } catch {
      context.log.debug({}, 'the press of a button could not be confirmed')
    }
  }

  async function catchUp(session: SessionInfo): Promise<void> {
    for (const [channelId, after] of progress.conversations()) {
      const pages = fetchMissed({ channelId, after, fetchPage: (query) => untilDone(() => readPage(channelId, query)) })
      for await (const message of pages) await handOver(message, undefined)
    }
    await untilDone(() => progress.keepSession(session))
  }

  /** Nothing, if the bot may not see the channel any more. */
  async function readPage(channelId: string, query: { after: string; limit: number }): Promise<unknown> {
    try {
      return await api.channels.getMessages(channelId, query, { signal })
    } catch (error) {
      const { status } = failureOf(error)
      if (status !== 403 && status !== 404) throw error
      progress.forget(channelId)
      return []
    }
  }

  /** Rejects only when the connection ends. */
  async function untilDone<Value>(work: () => Promise<Value>): Promise<Value> {
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, longestRetryMs)) {
      try {
        return await work()
      } catch (error) {
        signal.throwIfAborted()
        const { status, retryAfterMs } = failureOf(error)
        if (status === 401) context.lost(new AuthError(refusedToken))
        const level = waitMs === firstRetryMs ? 'warn' : 'debug'
        context.log[level](
          { reason: errorOfFailure(error, bot.apiRoot).message },
          'messages of Discord could not be received; it is tried again',
        )
        await delay(retryAfterMs ?? waitMs, undefined, { signal })
      }
    }
  }

  return {
    onMessage: (data, session) => enqueue(() => handOver(data, session)),
    onInteraction: (data) => enqueue(() => handOverPress(data)),
    onDelivering: (session) => enqueue(() => catchUp(session)),
    close: async () => void (await events.settled()),
  }
}

function toInbound(
  message: Omit<DiscordMessage, 'isFromPerson' | 'roles'>,
  { isDirect, parentId }: Place,
): InboundMessage {
  const { id, channelId, author, text, mentioned, attachments, quoted, forwardedFrom } = message
  return {
    id,
    from: author,
    to: parentId ?? channelId,
    text,
    attachments,
    ...(quoted && { quoted }),
    ...(forwardedFrom && { forwardedFrom }),
    // The typing indicator gets only the route.
    ...(parentId !== undefined && { threadId: channelId, route: channelId }),
    ...(!isDirect && { group: 'channel', mentioned }),
  }
}

/** Fetched messages and events may overlap. */
function createDuplicateFilter(): (id: string) => boolean {
  const known = new Map<string, true>()
  return (id) => {
    if (known.has(id)) return false
    keepLatest(known, [id, true])
    return true
  }
}
