// Encrypts the messages between gateways, because any role that may connect to the database can send and receive
// notifications. Only those who can read the secret of the store can read a message, or send one that is accepted.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { GatewayError } from '../../errors.ts'
import { compileCheck, type Static, Type } from '../../typebox.ts'

export interface Message {
  /** The name of its topic. */
  topic: string
  item: unknown
}

export interface MessageSeal {
  /** Returns the payload of a notification. The messages are a list as JSON. */
  seal(messages: string): string
  /** Throws if the payload is not from a gateway of this store, or has been received before. */
  open(payload: string): OpenedMessages
  /** Call it when a connection begins to receive messages. Those that were sent earlier are not accepted. */
  begin(): void
  /** Equal texts have equal digests on one store. Without its secret, no text can be compared with a digest. */
  digest(text: string): string
}

export interface OpenedMessages {
  /** Identifies the process that sent them. */
  sender: string
  isOwn: boolean
  messages: Message[]
}

interface SealOptions {
  secret: string
  /** The channel for which the messages are. */
  channel: string
  /** Returns the time of the database, in milliseconds. */
  now(): number
}

const saltBytes = 16
const tagBytes = 16
const keyBytes = 32
const nonceBytes = 12
/** The clocks of two gateways differ by this much at most: both follow the clock of the database. */
const clockErrorMs = 2_000

const Content = Type.Object({
  sender: Type.String(),
  sentAt: Type.Integer(),
  messages: Type.Array(Type.Object({ topic: Type.String(), item: Type.Unknown() })),
})

export function createMessageSeal({ secret, channel, now }: SealOptions): MessageSeal {
  const { fits } = compileCheck(Content)
  const self = randomUUID()
  /** When the newest message of each sender was sent. */
  const newest = new Map<string, number>()
  let lastSentAt = 0
  let begunAt = performance.now()

  /** Each message has a key of its own, so that no number of messages is too many for one key. */
  function deriveKey(salt: Buffer): { key: Buffer; nonce: Buffer } {
    const derived = Buffer.from(hkdfSync('sha256', secret, salt, channel, keyBytes + nonceBytes))
    return { key: derived.subarray(0, keyBytes), nonce: derived.subarray(keyBytes) }
  }

  function decrypt(payload: string): string {
    const bytes = Buffer.from(payload, 'base64')
    const { key, nonce } = deriveKey(bytes.subarray(0, saltBytes))
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
    decipher.setAuthTag(bytes.subarray(-tagBytes))
    return decipher.update(bytes.subarray(saltBytes, -tagBytes), undefined, 'utf8') + decipher.final('utf8')
  }

  /** Whoever can receive messages can send them again. */
  const isRepeated = ({ sender, sentAt }: Pick<Static<typeof Content>, 'sender' | 'sentAt'>): boolean =>
    sentAt <= (newest.get(sender) ?? -Infinity) || now() - sentAt > performance.now() - begunAt + clockErrorMs

  return {
    seal: (messages) => {
      // Later than the message before it, also if the clock of the database was put back.
      lastSentAt = Math.max(lastSentAt + 1, Math.round(now()))
      const salt = randomBytes(saltBytes)
      const { key, nonce } = deriveKey(salt)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const content = `{"sender":"${self}","sentAt":${lastSentAt},"messages":${messages}}`
      const encrypted = [cipher.update(content, 'utf8'), cipher.final()]
      return Buffer.concat([salt, ...encrypted, cipher.getAuthTag()]).toString('base64')
    },
    open: (payload) => {
      const content = parse(decrypt, payload)
      if (!fits(content)) throw new GatewayError('invalid_request', 'The sender is not a gateway on this store.')
      const { sender, sentAt, messages } = content as Static<typeof Content>
      if (isRepeated({ sender, sentAt })) throw new GatewayError('invalid_request', 'The message was sent before.')
      newest.set(sender, sentAt)
      return { sender, isOwn: sender === self, messages }
    },
    begin: () => void (begunAt = performance.now()),
    digest: (text) => {
      const key = Buffer.from(hkdfSync('sha256', secret, 'digest', channel, keyBytes))
      return createHmac('sha256', key).update(text).digest('base64url')
    },
  }
}

/** Errors of OpenSSL and of JSON are not passed on, because they may quote the payload. */
function parse(decrypt: (payload: string) => string, payload: string): unknown {
  try {
    return JSON.parse(decrypt(payload))
  } catch {
    return undefined
  }
}
