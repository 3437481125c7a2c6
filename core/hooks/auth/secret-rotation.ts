// The secrets of one mapping: several may be valid at once, each until its `notAfter`.
import type { HookAuth } from '../../config/schema/hook-auth.ts'

export interface SecretRotation<Key> {
  size: number
  /** Returns the first valid key that matches; `index` is the position of its secret in the configuration. */
  find(now: number, matches: (key: Key) => boolean): { key: Key; index: number } | undefined
}

/** The secrets in the order of the configuration. A secret without `notAfter` does not expire. */
export function secretsOf({ secret, secrets = [] }: HookAuth): { secret: string; notAfter?: string }[] {
  return (secret === undefined ? secrets : [secret]).map((one) => (typeof one === 'string' ? { secret: one } : one))
}

/** `make` creates the key of a secret, or returns undefined for a secret of another kind. */
export function createSecretRotation<Key>(
  auth: HookAuth,
  make: (secret: string) => Key | undefined,
): SecretRotation<Key> {
  const keys = secretsOf(auth).flatMap(({ secret, notAfter }, index) => {
    const key = make(secret)
    return key === undefined ? [] : [{ key, index, notAfter: notAfter === undefined ? Infinity : Date.parse(notAfter) }]
  })
  return {
    size: keys.length,
    find: (now, matches) => keys.find(({ key, notAfter }) => now <= notAfter && matches(key)),
  }
}
