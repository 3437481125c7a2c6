// Seals what a client gets and sends back, but may not read: cursors that hold the key of another agent's session, and
// session keys of which a payload may have chosen a part.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { GatewayError } from '../errors.ts'

export interface CursorSeal {
  seal(text: string): string
  /** Throws `invalid_request` for a text that was not sealed with this secret. */
  open(sealed: string): string
}

export const sealedPrefix = 's.'
const cipher = 'aes-256-gcm'
const [nonceBytes, tagBytes] = [12, 16]

/** All gateways with the same secret open each other's cursors. */
export function createCursorSeal(secret: string): CursorSeal {
  const inner = createSeal(secret, { name: 'cursor', createNonce: () => randomBytes(nonceBytes) })
  return {
    seal: inner.seal,
    open: (sealed) => inner.open(sealed, 'cursor is not valid any more; request the first page.'),
  }
}

export interface SessionKeySeal {
  /** A key that no payload can have chosen stays as it is, and so does any other text. */
  seal(key: string): string
  /** The same for a key that is not sealed. Throws `invalid_request` for one that was sealed with another secret. */
  open(key: string): string
}

/** The same key is always sealed in the same way, so that clients can compare keys. */
export function createSessionKeySeal(secret: string): SessionKeySeal {
  const nonceKey = deriveKey(secret, 'session key nonce')
  const createNonce = (text: string) => createHmac('sha256', nonceKey).update(text).digest().subarray(0, nonceBytes)
  const inner = createSeal(secret, { name: 'session key', createNonce })
  return {
    seal: (key) => {
      const [, prefix = '', rest] = /^(agent:[^:]*:)([^]+)$/.exec(key) ?? []
      return rest === undefined || isOwn.test(rest) ? key : prefix + inner.seal(rest)
    },
    open: (key) => {
      const [, prefix = '', sealed] = sealedKey.exec(key) ?? []
      return sealed === undefined
        ? key
        : prefix + inner.open(sealed, 'The session key is not valid any more; list again.')
    },
  }
}

/** The rest of a key that only the gateway, or the operator, chooses. */
const isOwn = /^(?:main|(?:subagent|schedule):[\w-]+|[\w-]+:(?:group|channel|direct|stranger):\S+)$/
const sealedKey = /^(agent:[^:]*:)(s\.[\w-]{38,})$/

const deriveKey = (secret: string, name: string): Buffer => Buffer.from(hkdfSync('sha256', secret, '', name, 32))

interface SealOptions {
  /** What is sealed. */
  name: string
  createNonce(text: string): Buffer
}

function createSeal(secret: string, { name, createNonce }: SealOptions) {
  const key = deriveKey(secret, name)
  return {
    seal: (text: string): string => {
      const nonce = createNonce(text)
      const sealing = createCipheriv(cipher, key, nonce)
      const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()])
      return sealedPrefix + Buffer.concat([nonce, sealing.getAuthTag(), sealed]).toString('base64url')
    },
    open: (sealed: string, problem: string): string => {
      const bytes = Buffer.from(sealed.slice(sealedPrefix.length), 'base64url')
      try {
        const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        opening.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
        return opening.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8') + opening.final('utf8')
      } catch (cause) {
        throw new GatewayError('invalid_request', problem, { cause })
      }
    },
  }
}
