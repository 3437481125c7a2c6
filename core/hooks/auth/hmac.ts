// HMAC (RFC 2104) with a secret made ready, out of one-shot hashes: Node's own sets up an object for each message,
// which costs more than hashing the message.
import { hash } from 'node:crypto'

const blockBytes = { sha1: 64, sha256: 64, sha512: 128 }

export type HmacAlgorithm = keyof typeof blockBytes

/** Signs one text after another with the same secret. */
export type Hmac = (text: Buffer, encoding: 'hex' | 'base64') => string

export function createHmac(algorithm: HmacAlgorithm, secret: Buffer): Hmac {
  const block = blockBytes[algorithm]
  const key = Buffer.alloc(block)
  ;(secret.length > block ? hash(algorithm, secret, 'buffer') : secret).copy(key)
  const inner = key.map((byte) => byte ^ 0x36)
  // Written over each time, behind the key.
  const outer = Buffer.concat([key.map((byte) => byte ^ 0x5c), hash(algorithm, '', 'buffer')])
  return (text, encoding) => {
    outer.write(hash(algorithm, Buffer.concat([inner, text]), 'binary'), block, 'binary')
    return hash(algorithm, outer, encoding)
  }
}
