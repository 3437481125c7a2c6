// One prepared secret or public key: verifies signatures in constant time.
import { createHmac, createPublicKey, createSecretKey, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import { type FullSignature, keyTextOf } from '../../config/schemes.ts'

export interface SigningKey {
  /** Whether one of the signatures is valid for the content. */
  verify(content: Buffer, signatures: readonly string[]): boolean
  /** Signs with a shared secret. A public key cannot. */
  sign?(content: Buffer): string
}

/** Returns undefined when the secret is for another one of the signatures of the scheme. */
export function createSigningKey(
  secret: string,
  signature: FullSignature,
  signatures: readonly FullSignature[],
): SigningKey | undefined {
  const { algorithm, encoding, secretEncoding } = signature
  const text = keyTextOf(secret, signature, signatures)
  if (text === undefined) return undefined
  const bytes = Buffer.from(text, secretEncoding)
  return algorithm === 'ed25519' ? publicKey(bytes, encoding) : sharedKey(bytes, algorithm, encoding)
}

function sharedKey(secret: Buffer, algorithm: string, encoding: FullSignature['encoding']): SigningKey {
  // A prepared key: with the bytes of the secret, each signature would cost several times as much.
  const key = createSecretKey(secret)
  const sign = (content: Buffer): string => createHmac(algorithm, key).update(content).digest(encoding)
  return {
    sign,
    verify(content, signatures) {
      const expected = Buffer.from(sign(content))
      return signatures.some((one) => isSame(Buffer.from(toSpelling(one, encoding)), expected))
    },
  }
}

/** Hexadecimal digits may be in upper case: some senders format them so. */
const toSpelling = (signature: string, encoding: FullSignature['encoding']): string =>
  encoding === 'hex' ? signature.toLowerCase() : signature

/** Compares the encoded texts, so that no signature of Base64 has two spellings. */
const isSame = (given: Buffer, expected: Buffer): boolean =>
  given.length === expected.length && timingSafeEqual(given, expected)

function publicKey(raw: Buffer, encoding: FullSignature['encoding']): SigningKey {
  const key = ed25519Key(raw)
  const isValid = (content: Buffer, given: string) => {
    const signature = toSpelling(given, encoding)
    const bytes = Buffer.from(signature, encoding)
    return bytes.toString(encoding) === signature && verify(null, content, key, bytes)
  }
  return { verify: (content, signatures) => signatures.some((one) => isValid(content, one)) }
}

const ed25519Key = (raw: Buffer): KeyObject =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') }, format: 'jwk' })
