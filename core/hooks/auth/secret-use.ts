// When each secret of a mapping was last used: in memory, and at most once a minute on disk. Only the position of a
// secret is stored, never the secret or a digest of it.
import { describeError } from '../../errors.ts'
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import type { Json, Log } from '../../plugin/plugin.ts'
import type { Store, Timestamp } from '../../store/store.ts'
import { secretsOf } from './secret-rotation.ts'

export interface SecretUse {
  /** Opens the secrets of one mapping. A secret that is still configured keeps its time, whatever its position is. */
  open(mapping: string, auth: HookAuth): UsedSecrets
}

export interface UsedSecrets {
  /** Records that the secret at this position was used. */
  note(index: number, at: Timestamp): void
  /** In the order of the configuration. */
  list(): Promise<readonly SecretStatus[]>
}

export interface SecretStatus {
  index: number
  /** As written in the configuration. */
  notAfter?: string | undefined
  lastUsedAt?: Timestamp | undefined
}

interface Use {
  at?: Timestamp
  savedAt: Timestamp
}

/** The secrets of a mapping when they were last opened. */
interface OpenedSecrets {
  shape: string
  uses: ReadonlyMap<string, Use>
  loaded: Promise<void>
}

/** The stored record, with one entry for each position. */
interface StoredUses {
  notAfter: (string | null)[]
  lastUsedAt: (Timestamp | null)[]
}

const stateOwner = 'hook-secrets'
const saveIntervalMs = 60_000

export function createSecretUse({ store, log }: { store: Pick<Store, 'getState' | 'setState'>; log: Log }): SecretUse {
  const opened = new Map<string, OpenedSecrets>()

  return {
    open(mapping, auth) {
      const secrets = secretsOf(auth)
      const before = opened.get(mapping)
      const uses = secrets.map(({ secret }): Use => before?.uses.get(secret) ?? { savedAt: 0 })
      const notAfter = secrets.map((one) => one.notAfter ?? null)
      const loaded = before?.loaded ?? load(mapping, { uses, notAfter })
      const shape = JSON.stringify(secrets)
      opened.set(mapping, {
        shape,
        uses: new Map(secrets.map(({ secret }, index) => [secret, uses[index] as Use])),
        loaded,
      })
      // Otherwise the next start would assign the stored times to the secrets that are at these positions now.
      if (before && before.shape !== shape) void loaded.then(() => save(mapping, { uses, notAfter }))
      return {
        note(index, at) {
          const use = uses[index]
          if (!use) return
          use.at = at
          if (Math.abs(at - use.savedAt) < saveIntervalMs) return
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

  /** Ignores the record when the positions differ from the stored ones: they hold other secrets. */
  async function load(mapping: string, { uses, notAfter }: SavedSecrets): Promise<void> {
    const stored = (await store.getState(stateOwner, mapping).catch(() => undefined)) as StoredUses | undefined
    if (!stored || JSON.stringify(stored.notAfter) !== JSON.stringify(notAfter)) return
    for (const [index, use] of uses.entries()) use.at ??= stored.lastUsedAt[index] ?? undefined
  }

  async function save(mapping: string, { uses, notAfter }: SavedSecrets): Promise<void> {
    const stored: StoredUses = { notAfter, lastUsedAt: uses.map(({ at }) => at ?? null) }
    await store
      .setState(stateOwner, mapping, stored as unknown as Json)
      .catch((error: Error) =>
        log.warn({ mapping, ...describeError(error) }, 'the last use of a secret could not be saved'),
      )
  }
}

interface SavedSecrets {
  uses: readonly Use[]
  notAfter: (string | null)[]
}
