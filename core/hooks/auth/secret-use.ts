// When each secret of a mapping was last used: in memory, and on disk once a minute at most; of a secret only its place
// is stored.
import { describeError } from '../../errors.ts'
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import type { Json, Log } from '../../plugin.ts'
import type { Store, Timestamp } from '../../store/store.ts'
import { secretsOf } from './secret-rotation.ts'

export interface SecretUse {
  /**
   * The secrets of one mapping. What was known under this id of one that is still there stays known, whatever its place
   * is now.
   */
  open(mapping: string, auth: HookAuth): UsedSecrets
}

export interface UsedSecrets {
  /** The secret at this place has just proven a sender. */
  note(index: number, at: Timestamp): void
  /** In the order of the configuration. */
  list(): Promise<readonly SecretLine[]>
}

export interface SecretLine {
  index: number
  /** As the configuration says it. */
  notAfter?: string | undefined
  lastUsedAt?: Timestamp | undefined
}

interface Use {
  at?: Timestamp
  savedAt: Timestamp
}

/** The secrets of a mapping as they were opened last. */
interface Known {
  shape: string
  uses: ReadonlyMap<string, Use>
  loaded: Promise<void>
}

/** As it is stored: which places there are, each until when, and when each was last used. */
interface Kept {
  notAfter: (string | null)[]
  lastUsedAt: (Timestamp | null)[]
}

const stateOwner = 'hook-secrets'
const restMs = 60_000

export function createSecretUse({ store, log }: { store: Pick<Store, 'getState' | 'setState'>; log: Log }): SecretUse {
  const known = new Map<string, Known>()

  return {
    open(mapping, auth) {
      const secrets = secretsOf(auth)
      const before = known.get(mapping)
      const uses = secrets.map(({ secret }): Use => before?.uses.get(secret) ?? { savedAt: 0 })
      const notAfter = secrets.map((one) => one.notAfter ?? null)
      const loaded = before?.loaded ?? load(mapping, { uses, notAfter })
      const shape = JSON.stringify(secrets)
      known.set(mapping, {
        shape,
        uses: new Map(secrets.map(({ secret }, index) => [secret, uses[index] as Use])),
        loaded,
      })
      // Else the next start would take what it finds for that of the secrets which are in these places now.
      if (before && before.shape !== shape) void loaded.then(() => save(mapping, { uses, notAfter }))
      return {
        note(index, at) {
          const use = uses[index]
          if (!use) return
          use.at = at
          if (Math.abs(at - use.savedAt) < restMs) return
          use.savedAt = at
          void loaded.then(() => save(mapping, { uses, notAfter }))
        },
        async list() {
          await loaded
          return secrets.map((one, index) => ({ index, notAfter: one.notAfter, lastUsedAt: uses[index]?.at }))
        },
      }
    },
  }

  /** Other places than those that were stored have other secrets: of these nothing is known. */
  async function load(mapping: string, { uses, notAfter }: KnownSecrets): Promise<void> {
    const kept = (await store.getState(stateOwner, mapping).catch(() => undefined)) as Kept | undefined
    if (!kept || JSON.stringify(kept.notAfter) !== JSON.stringify(notAfter)) return
    for (const [index, use] of uses.entries()) use.at ??= kept.lastUsedAt[index] ?? undefined
  }

  async function save(mapping: string, { uses, notAfter }: KnownSecrets): Promise<void> {
    const kept: Kept = { notAfter, lastUsedAt: uses.map(({ at }) => at ?? null) }
    await store
      .setState(stateOwner, mapping, kept as unknown as Json)
      .catch((error: Error) =>
        log.warn({ mapping, ...describeError(error) }, 'when a secret was last used could not be noted'),
      )
  }
}

interface KnownSecrets {
  uses: readonly Use[]
  notAfter: (string | null)[]
}
