// The secrets of one webhook: several may count at once, each until its own end.
import type { HookAuth } from '../../config/schema/hook-auth.ts'

export interface SecretRotation<Key> {
  size: number
  /** The first key that still counts and fits; `index` is the place of its secret in the configuration. */
  find(now: number, fits: (key: Key) => boolean): { key: Key; index: number } | undefined
}

/** In the order of the configuration; without `notAfter` a secret counts for good. */
export function secretsOf({ secret, secrets = [] }: HookAuth): { secret: string; notAfter?: string }[] {
  return (secret === undefined ? secrets : [secret]).map((one) => (typeof one === 'string' ? { secret: one } : one))
}

/** `make` prepares the key of a secret; undefined: this secret is none of ours. */
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
    find: (now, fits) => keys.find(({ key, notAfter }) => now <= notAfter && fits(key)),
  }
}
