// A channel for a chat server with an HTTP API: it waits for messages with long polling, and posts the replies.
import { setTimeout as delay } from 'node:timers/promises'
import {
  type Attachment,
  AuthError,
  type ChannelContext,
  defineChannel,
  type InboundMessage,
  type OutboundMessage,
  type SendResult,
  type Static,
  Type,
} from 'svc-gateway/plugin'
import { connectError, connectStatusError, resultOfError, resultOfResponse } from 'svc-gateway/kit'

const Config = Type.Object({
  url: Type.String({ pattern: '^https?://', description: 'Address of the chat server.' }),
  token: Type.String({ secret: true, description: 'Token of the bot, sent as "Authorization: Bearer <token>".' }),
})
type Config = Static<typeof Config>

interface Author {
  id: string
  name: string
  /** Only if the author shows it. */
  phone?: string
}

/** A message as `GET /messages` returns it. */
interface ChatMessage {
  /** Grows with each message, so it is also the position of the reader. */
  number: number
  author: Author
  conversation: string
  text: string
  /** The number of the message that began the thread. */
  thread?: number
  /** Only in a conversation of several people: whether the message mentions the bot. */
  mentionsBot?: boolean
  /** The message that this one answers. `byBot`: the bot wrote it. */
  answers?: { author: Author; byBot: boolean; text: string }
  /** Who wrote the message, if the author passes it on. */
  passedOnFrom?: { name: string }
  /** The number of the message of which this is a new version. */
  replaces?: number
  files?: readonly { id: string; name: string; type: string; size: number }[]
}

export default defineChannel<Config>({
  name: 'plugin-name',
  description: 'Plugin Name: messages of the chat server, in both directions.',
  config: Config,
  target: Type.String({ pattern: '^[\\w-]+$', description: 'The id of a conversation, such as "support-17".' }),
  // The server drops a second message with the same key, so the gateway may send again when an answer was lost.
  limits: { maxText: 4000, idempotency: 'native' },
  panel: { title: 'Plugin Name', folder: new URL('./panel/', import.meta.url), reads: ['/api/channels'] },
  async connect(config, context) {
    const stop = new AbortController()
    await get(config, '/account', stop.signal)
    const polling = poll(config, { ...context, signal: stop.signal })
    return {
      send: (message) => send(config, message),
      async close() {
        stop.abort()
        await polling
      },
    }
  },
})

/** Throws an `AuthError` if the token is refused, so that the gateway does not try it again. */
async function get(config: Config, path: string, signal: AbortSignal): Promise<Response> {
  const service = { name: 'The chat server', url: config.url, setting: 'channels.plugin-name.url' }
  try {
    const response = await fetch(config.url + path, { headers: headersOf(config), signal })
    if (response.ok) return response
    await response.body?.cancel()
    if (response.status === 401)
      throw new AuthError('The chat server refuses the token; set channels.plugin-name.token.')
    throw connectStatusError(response, service)
  } catch (error) {
    throw connectError(error, service)
  }
}

const headersOf = ({ token }: Config) => ({ authorization: `Bearer ${token}`, 'content-type': 'application/json' })

/** Reads messages until the connection is closed. An error ends the connection, and the gateway connects again. */
async function poll(config: Config, { receive, state, lost, signal }: ChannelContext): Promise<void> {
  try {
    while (!signal.aborted) {
      const after = Number((await state.get('after')) ?? 0)
      const response = await get(config, `/messages?after=${after}&wait=30`, signal)
      const messages = (await response.json()) as ChatMessage[]
      for (const message of messages) {
        // An agent has read the first version of an edited message.
        if (message.replaces === undefined) await receive(toInbound(config, message))
        // Only now is the message on disk. After a crash it is read again, and recognized by its id.
        await state.set('after', message.number)
      }
      // A server that answers without waiting is asked once a second.
      if (messages.length === 0) await delay(1000, undefined, { signal })
    }
  } catch (error) {
    if (!signal.aborted) lost(error)
  }
}

function toInbound(config: Config, message: ChatMessage): InboundMessage {
  const { number, author, conversation, text, thread, mentionsBot, answers, passedOnFrom, files = [] } = message
  return {
    id: String(number),
    from: { ...author, otherIds: author.phone === undefined ? [] : [author.phone] },
    to: conversation,
    text: text.replace(/^@bot\b\s*/, ''),
    ...(thread !== undefined && { threadId: String(thread) }),
    ...(mentionsBot !== undefined && { group: 'group', mentioned: mentionsBot }),
    ...(answers && { quoted: { from: answers.author, isOwn: answers.byBot, text: answers.text } }),
    ...(passedOnFrom && { forwardedFrom: passedOnFrom }),
    // The gateway downloads a file only if the sender may write to the agent.
    attachments: files.map(({ id, name, type, size }): Attachment => ({
      name,
      type,
      size,
      read: (signal) => get(config, `/files/${id}`, signal),
    })),
  }
}

/** Tries once. The gateway decides about further attempts. */
async function send(config: Config, { key, to, text, threadId }: OutboundMessage): Promise<SendResult> {
  try {
    const response = await fetch(`${config.url}/messages`, {
      method: 'POST',
      headers: { ...headersOf(config), 'idempotency-key': key },
      body: JSON.stringify({ conversation: to, text, thread: threadId && Number(threadId) }),
      signal: AbortSignal.timeout(30_000),
    })
    await response.body?.cancel()
    return response.ok ? { outcome: 'sent', id: key } : resultOfResponse(response)
  } catch (error) {
    return resultOfError(error)
  }
}
