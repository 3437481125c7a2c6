// Sends messages of a linked device. A message is sent when WhatsApp's server has confirmed it.
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { AnyMessageContent, BinaryNode, proto, SignalRepositoryWithLIDStore, WASocket } from 'baileys'
import { keepLatest } from 'svc-gateway/kit'
import type { Log, OutboundMessage, SendResult } from 'svc-gateway/plugin'
import { isNumber, toJid } from './address.ts'
import type { Library } from './library.ts'
import type { createSentMessages } from './sent-messages.ts'

export type Repository = SignalRepositoryWithLIDStore

/** How long a message waits for the confirmation of the server. */
const confirmMs = 20_000

/** What happened to a message in this process. */
interface Sending {
  /** Set before the message is written to the socket, when the used key is stored. */
  isEncrypted: boolean
}

interface SenderOptions {
  library: Library
  sent: ReturnType<typeof createSentMessages>
  log: Log
  signal: AbortSignal
}

export function createSender({ library, sent, log, signal }: SenderOptions) {
  const sending = new AsyncLocalStorage<Sending>()
  const waiting = new Map<string, (result: SendResult) => void>()
  const known = new Map<string, string>()
  const { promise: closed, resolve: close } = Promise.withResolvers<'closed'>()
  signal.addEventListener('abort', () => close('closed'), { once: true })
  const opened = Promise.withResolvers<WASocket>()

  /** The JID of a phone number, which the server knows best. Undefined if the number has no account. */
  async function resolveJid(to: string): Promise<string | undefined> {
    const jid = toJid(to)
    if (!isNumber(jid)) return jid
    const found = known.get(jid) ?? (await lookUp(jid))
    if (found !== undefined) keepLatest(known, [jid, found])
    return found
  }

  async function lookUp(jid: string): Promise<string | undefined> {
    const socket = await opened.promise
    const accounts = await socket.onWhatsApp(jid)
    if (!accounts) throw new Error('the server did not answer')
    return accounts.find(({ exists }) => exists)?.jid
  }

  async function transmit(message: OutboundMessage, state: Sending): Promise<SendResult> {
    const socket = await opened.promise
    const jid = await resolveJid(message.to)
    if (jid === undefined) return failed('permanent', 'There is no WhatsApp account with this phone number.')
    const messageId = messageIdOf(message.key)
    const confirmed = new Promise<SendResult>((resolve) => waiting.set(messageId, resolve))
    const done = new AbortController()
    try {
      const written = await sending.run(state, () => socket.sendMessage(jid, contentOf(message), { messageId }))
      const kept = keep(messageId, { jid, message: written?.message })
      const timeout = delay(confirmMs, unconfirmed, { signal: done.signal }).catch(() => unconfirmed)
      const result = await Promise.race([confirmed, timeout, closed.then(() => unconfirmed)])
      await Promise.race([kept, closed])
      return result
    } finally {
      done.abort()
      waiting.delete(messageId)
    }
  }

  async function keep(id: string, { jid, message }: { jid: string; message: proto.IMessage | null | undefined }) {
    if (!message) return
    const data = library.proto.Message.encode(message).finish()
    await sent.keep(id, { to: jid, data }).catch(() => log.debug({}, 'a message that was sent could not be kept'))
  }

  return {
    async send(message: OutboundMessage): Promise<SendResult> {
      const state: Sending = { isEncrypted: false }
      const ended = closed.then(() => resultOfClose(state))
      return await Promise.race([transmit(message, state).catch((error) => resultOfFailure(error, state)), ended])
    },
    listen(socket: WASocket): void {
      opened.resolve(socket)
      socket.ws.on('CB:ack,class:message', ({ attrs }: BinaryNode) => {
        if (attrs.id !== undefined) waiting.get(attrs.id)?.(resultOfAck(attrs.id, attrs.error))
      })
    },
    /** Notes when a message has been encrypted: until then it has certainly not been sent. */
    watchEncryption(repository: Repository): Repository {
      async function noted<Result>(encrypted: Promise<Result>): Promise<Result> {
        const result = await encrypted
        const state = sending.getStore()
        if (state) state.isEncrypted = true
        return result
      }
      return {
        ...repository,
        encryptMessage: (message) => noted(repository.encryptMessage(message)),
        encryptGroupMessage: (message) => noted(repository.encryptGroupMessage(message)),
      }
    },
  }
}

type Failure = Extract<SendResult, { outcome: 'failed' }>

const failed = (reason: Failure['reason'], detail: string): Failure => ({ outcome: 'failed', reason, detail })

const unconfirmed: SendResult = { outcome: 'unknown', detail: 'WhatsApp did not confirm the message.' }

/** Ids of WhatsApp look like this. The same key gives the same id, so that a repetition can be recognized. */
const messageIdOf = (key: string): string =>
  `3EB0${createHash('sha256').update(key).digest('hex').slice(0, 18).toUpperCase()}`

/** Without `linkPreview: null` the library would fetch the pages that the agent links to. */
function contentOf({ text, file }: OutboundMessage): AnyMessageContent {
  if (!file) return { text, linkPreview: null }
  const data = Buffer.from(file.data.buffer, file.data.byteOffset, file.data.byteLength)
  const caption = text === '' ? {} : { caption: text }
  if (file.type === 'image/jpeg' || file.type === 'image/png') return { image: data, mimetype: file.type, ...caption }
  if (file.type === 'video/mp4') return { video: data, mimetype: file.type, ...caption }
  return { document: data, mimetype: file.type, fileName: file.name, ...caption }
}

/** The server refuses a message with a code in its confirmation. */
function resultOfAck(id: string, error: string | undefined): SendResult {
  if (error === undefined) return { outcome: 'sent', id }
  if (error === '463')
    return failed('permanent', 'WhatsApp does not let this account start new conversations at the moment (463).')
  if (error === '429') return failed('rate', 'WhatsApp asks to slow down (429).')
  if (error === '500' || error === '503') return failed('transient', `WhatsApp refused the message (${error}).`)
  return failed('permanent', `WhatsApp refused the message (${error}).`)
}

const resultOfClose = ({ isEncrypted }: Sending): SendResult =>
  isEncrypted ? unconfirmed : failed('transient', 'The connection was closed before the message was sent.')

function resultOfFailure(error: unknown, state: Sending): SendResult {
  if (state.isEncrypted) return unconfirmed
  const code = Number((error as { data?: unknown } | undefined)?.data)
  if ([403, 404, 406].includes(code)) return failed('permanent', `WhatsApp does not accept this recipient (${code}).`)
  if (code === 429) return failed('rate', 'WhatsApp asks to slow down (429).')
  return failed('transient', 'The message could not be prepared.')
}
