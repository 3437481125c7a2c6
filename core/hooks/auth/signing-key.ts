// One prepared secret or public key: verifies signatures in constant time.
import { createPublicKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import { createHmac, type HmacAlgorithm } from './hmac.ts'
import type { Signing } from './service-signatures.ts'

export interface SigningKey {
  /** Whether one of the signatures is valid for the content. */
  verify(content: Buffer, signatures: readonly string[]): boolean
  /** Signs with a shared secret. A public key returns an empty text. */
  sign(content: string | Buffer): string
}

/** Returns undefined when the secret is of another kind than this signing uses. */
export function createSigningKey(signing: Signing, secret: string): SigningKey | undefined {
  const { algorithm, encoding, secretEncoding, secretPrefix = '' } = signing
  if (!accepts(signing, secret)) return undefined
  const bytes = Buffer.from(
    secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret,
    secretEncoding,
  )
  return algorithm === 'ed25519' ? publicKey(bytes, encoding) : sharedKey(bytes, algorithm, encoding)
}

/** Where a scheme has two kinds of keys, public keys have a prefix and shared secrets have none. */
const accepts = ({ algorithm, secretPrefix }: Signing, secret: string): boolean =>
  secretPrefix === undefined || (algorithm === 'ed25519') === secret.startsWith(publicPrefix)

const publicPrefix = 'whpk_'

function sharedKey(secret: Buffer, algorithm: HmacAlgorithm, encoding: Signing['encoding']): SigningKey {
  const hmac = createHmac(algorithm, secret)
  return {
    sign: (content) => hmac(Buffer.from(content as string), encoding),
    verify(content, signatures) {
      const expected = Buffer.from(hmac(content, encoding))
      return signatures.some((one) => isSame(Buffer.from(one), expected))
    },
  }
}

/** Compares the encoded texts, so that each signature has one valid spelling. */
const isSame = (given: Buffer, expected: Buffer): boolean =>
  given.length === expected.length && timingSafeEqual(given, expected)

function publicKey(raw: Buffer, encoding: Signing['encoding']): SigningKey {
  const key = ed25519Key(raw)
  const isValid = (content: Buffer, signature: string) => {
    const bytes = Buffer.from(signature, encoding)
    return bytes.toString(encoding) === signature && verify(null, content, key, bytes)
  }
  return { verify: (content, signatures) => signatures.some((one) => isValid(content, one)), sign: () => '' }
}

const ed25519Key = (raw: Buffer): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' })
