// Compares secrets in constant time.
import { hash, timingSafeEqual } from 'node:crypto'

/** Compares in constant time for any length of the given value: compares SHA-256 digests, never the texts. */
export function createMatcher(expected: string): (given: string) => boolean {
  const sha256 = (text: string): Buffer => Buffer.from(hash('sha256', text, 'hex'), 'hex')
  const digest = sha256(expected)
  return (given) => timingSafeEqual(sha256(given), digest)
}
