// The secrets of one mapping: several may be valid at once, each until its `notAfter`.
import type { HookAuth } from '../../config/schema/hook-auth.ts'

export interface ConfiguredSecret {
  secret: string
  notAfter?: string
}

/** The secrets in the order of the configuration. A secret without `notAfter` does not expire. */
export const secretsOf = ({ secret, secrets = [] }: HookAuth): ConfiguredSecret[] =>
  (secret === undefined ? secrets : [secret]).map((one) => (typeof one === 'string' ? { secret: one } : one))

/** The secrets with their keys. `make` returns undefined for a secret of another kind. */
export function createSecretRotation<Key>(
  auth: HookAuth,
  make: (secret: string) => Key | undefined,
): SecretRotation<Key> {
  const entries = secretsOf(auth).flatMap(({ secret, notAfter }, index) => {
    const key = make(secret)
    const until = notAfter === undefined ? Infinity : Date.parse(notAfter)
    return key === undefined ? [] : [{ key, secret, index, until }]
  })
  return {
    size: entries.length,
    find: (now, matches) => entries.find(({ key, until }) => now <= until && matches(key)),
    valid: (now) => entries.filter(({ until }) => now <= until),
  }
}

interface Entry<Key> {
  key: Key
  secret: string
  /** The position of the secret in the configuration. */
  index: number
}

export interface SecretRotation<Key> {
  size: number
  /** Returns the first valid key that matches. */
  find(now: number, matches: (key: Key) => boolean): Entry<Key> | undefined
  valid(now: number): readonly Entry<Key>[]
}
