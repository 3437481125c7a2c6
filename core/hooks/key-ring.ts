// The secrets of one webhook: several may count at once, each until its own end.
import type { HookAuth } from '../config/schema/hook-auth.ts'

export interface KeyRing<Key> {
  size: number
  /** The first key that still counts and fits; `index` is the place of its secret in the configuration. */
  find(now: number, fits: (key: Key) => boolean): { key: Key; index: number } | undefined
}

/** `make` prepares the key of a secret; undefined: this secret is none of ours. */
export function createKeyRing<Key>({ secret, secrets = [] }: HookAuth, make: (secret: string) => Key | undefined): KeyRing<Key> {
  const all = secret === undefined ? secrets : [secret]
  const keys = all.flatMap((one, index) => {
    const key = make(typeof one === 'string' ? one : one.secret)
    return key === undefined ? [] : [{ key, index, notAfter: typeof one === 'string' ? Infinity : Date.parse(one.notAfter) }]
  })
  return {
    size: keys.length,
    find: (now, fits) => keys.find(({ key, notAfter }) => now <= notAfter && fits(key)),
  }
}
