// One secret or public key, made ready: does a signature fit a text? Compared in constant time.
import { createHmac, createPublicKey, createSecretKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import type { Signing } from './schemes.ts'

export interface SigningKey {
  /** Whether one of the signatures is that of the text. */
  fits(text: Buffer, signatures: readonly string[]): boolean
  /** Signs with a shared secret; a public key signs nothing. */
  sign(text: string): string
}

/** @returns undefined when the secret is of another kind than this signing takes. */
export function createSigningKey(signing: Signing, secret: string): SigningKey | undefined {
  const { algorithm, encoding, secretEncoding, secretPrefix = '' } = signing
  if (!takes(signing, secret)) return undefined
  const bytes = Buffer.from(
    secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret,
    secretEncoding,
  )
  return algorithm === 'ed25519' ? publicKey(bytes, encoding) : sharedKey(bytes, algorithm, encoding)
}

/** Where there are two kinds of keys, public ones bear a prefix; what bears none is a shared secret. */
const takes = ({ algorithm, secretPrefix }: Signing, secret: string): boolean =>
  secretPrefix === undefined || (algorithm === 'ed25519') === secret.startsWith(publicPrefix)

const publicPrefix = 'whpk_'

function sharedKey(secret: Buffer, algorithm: string, encoding: Signing['encoding']): SigningKey {
  // With a key object, Node's HMAC takes a fifth of the time that it takes with the bytes of the secret.
  const key = createSecretKey(secret)
  const sign = (text: string | Buffer): string => createHmac(algorithm, key).update(text).digest(encoding)
  return {
    sign,
    fits(text, signatures) {
      const expected = Buffer.from(sign(text))
      return signatures.some((one) => isSame(Buffer.from(one), expected))
    },
  }
}

/** The spellings are compared, not the bytes that they stand for: one signature has one spelling. */
const isSame = (given: Buffer, expected: Buffer): boolean =>
  given.length === expected.length && timingSafeEqual(given, expected)

function publicKey(raw: Buffer, encoding: Signing['encoding']): SigningKey {
  const key = ed25519Key(raw)
  const fits = (text: Buffer, signature: string) => {
    const bytes = Buffer.from(signature, encoding)
    return bytes.toString(encoding) === signature && verify(null, text, key, bytes)
  }
  return { fits: (text, signatures) => signatures.some((one) => fits(text, one)), sign: () => '' }
}

const ed25519Key = (raw: Buffer): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' })
