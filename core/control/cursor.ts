// Seals cursors that hold names which the client may not know, such as the key of another agent's session.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
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
  const key = Buffer.from(hkdfSync('sha256', secret, '', 'cursor', 32))
  return {
    seal: (text) => {
      const nonce = randomBytes(nonceBytes)
      const sealing = createCipheriv(cipher, key, nonce)
      const sealed = Buffer.concat([sealing.update(text, 'utf8'), sealing.final()])
      return sealedPrefix + Buffer.concat([nonce, sealing.getAuthTag(), sealed]).toString('base64url')
    },
    open: (sealed) => {
      const bytes = Buffer.from(sealed.slice(sealedPrefix.length), 'base64url')
      try {
        const opening = createDecipheriv(cipher, key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        opening.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes))
        return opening.update(bytes.subarray(nonceBytes + tagBytes), undefined, 'utf8') + opening.final('utf8')
      } catch (cause) {
        throw new GatewayError('invalid_request', 'cursor is not valid any more; request the first page.', { cause })
      }
    },
  }
}
