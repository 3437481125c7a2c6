// Reads updates by long polling. A poll confirms the updates before its offset to Telegram, so the offset passes an
// update only when its message is on disk, with all its parts. Telegram remembers the offset.
import { setTimeout as delay } from 'node:timers/promises'
import { joinMessages } from 'svc-gateway/kit'
import { AuthError, type ChannelContext } from 'svc-gateway/plugin'
import { apiErrorOf, type Client, grammySignal } from './client.ts'
import { type Bot, readMessage, readMove, readPress } from './message.ts'
import { createCollector, numberOf } from './parts.ts'

/** How long Telegram waits for an update, in seconds. */
const pollSeconds = 30
/** An answer that is later than this never comes. */
const deadlineMs = (pollSeconds + 15) * 1000
/** The next connection deletes the webhook. If the other program sets it again, only a person can decide. */
const webhookReason =
  'Another program has set a webhook for this bot, so Telegram sends the messages there. The channel deletes it when it ' +
  'connects again. If this repeats, stop that program, or delete the webhook there with the method deleteWebhook.'

/** How long Telegram may take to answer to the confirmation of a press. */
const confirmMs = 5000
/** Pause after another program has read the bot's messages. */
const pauseMs = 1000
/** A message in parts is complete when a poll after this time brings no further part. */
const quietMs = 1000

interface Polling {
  context: ChannelContext
  me: Bot
  signal: AbortSignal
}

/** Polls until `signal` aborts or the connection is lost. Never rejects. */
export async function poll(client: Client, { context, me, signal }: Polling): Promise<void> {
  const { log, receive, moved, lost } = context
  const collect = createCollector()
  let offset = 0
  let inConflict = false

  /** @returns whether parts of messages are missing. Everything from the first of these messages on comes again. */
  async function takeAll(updates: readonly unknown[]): Promise<boolean> {
    const { messages, count } = collect(updates)
    for (const parts of messages) {
      await take(parts)
      if (signal.aborted) return false
    }
    const last = updates
      .slice(0, count)
      .map(numberOf)
      .findLast((id) => id !== undefined)
    if (last !== undefined) offset = last + 1
    return count < updates.length
  }

  async function take(parts: readonly unknown[]): Promise<void> {
    const [first] = parts
    const press = readPress(first)
    const move = readMove(first)
    const messages = press ? [press.message] : parts.flatMap((part) => readMessage(part, { me, client }) ?? [])
    if (move) await moved(move.from, move.to)
    else if (messages.length > 0) await receive(joinMessages(messages))
    else log.debug({ update: numberOf(first) }, 'ignored an update that is not a message')
    if (press) await confirmPress(press.queryId)
  }

  /** Until then, the app shows that the bot is busy. */
  async function confirmPress(queryId: string): Promise<void> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(confirmMs)])
    try {
      await client.api.answerCallbackQuery(queryId, {}, grammySignal(deadline))
    } catch {
      log.debug({}, 'the press of a button could not be confirmed')
    }
  }

  /** @returns how long to wait before the next poll, or undefined if the connection is lost */
  function waitAfter(error: unknown): number | undefined {
    const answer = apiErrorOf(error)
    if (answer?.error_code === 429) return (answer.parameters.retry_after ?? 1) * 1000
    if (answer?.error_code === 409 && answer.description.includes('webhook')) lost(webhookReason)
    else if (answer?.error_code === 409) {
      if (!inConflict) log.warn({}, 'another program reads the messages of this bot; only one of them can')
      inConflict = true
      return pauseMs
    } else if (answer?.error_code === 401) lost(new AuthError('Telegram refuses the bot token.'))
    else lost(answer ? `Telegram answered ${answer.error_code}.` : 'Telegram could not be reached.')
    return undefined
  }

  let isWaiting = false
  while (!signal.aborted) {
    try {
      if (isWaiting) await pause(quietMs, signal)
      isWaiting = await takeAll(await getUpdates(client, { offset, timeout: isWaiting ? 0 : pollSeconds }, signal))
      inConflict = false
    } catch (error) {
      const wait = signal.aborted ? undefined : waitAfter(error)
      if (wait === undefined) return
      await pause(wait, signal)
    }
  }
}

const updateTypes = ['message', 'channel_post', 'callback_query'] as const

async function getUpdates(
  { api }: Client,
  poll: { offset: number; timeout: number },
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const options = { ...poll, allowed_updates: updateTypes }
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])
  const updates: unknown = await api.getUpdates(options, grammySignal(deadline))
  if (!Array.isArray(updates)) throw new TypeError('Telegram did not answer with a list of updates.')
  return updates
}

const pause = (ms: number, signal: AbortSignal) => delay(ms, undefined, { signal }).catch(() => undefined)
