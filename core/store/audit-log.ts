// Records in the audit log what changes nothing in the store, and what was refused or failed.
import { describeError, GatewayError } from '../errors.ts'
import type { Principal } from '../http/access.ts'
import type { Log } from '../plugin/plugin.ts'
import type { AuditAction, AuditSource, NewAuditEntry, Store } from './store.ts'

export interface AuditLog {
  /** Resolves when the entry is stored. The action is done, so an entry that cannot be stored is only logged. */
  done(source: AuditSource, action: AuditAction): Promise<void>
  /** Records a refusal or a failure. The same one of a client is recorded once a minute, so that none can fill it. */
  failed(source: AuditSource, action: AuditAction, error: unknown): void
  /** Does the work, and records that it was done or that it failed. */
  during<Result>(source: AuditSource, action: AuditedWork<Result>, work: () => Promise<Result>): Promise<Result>
}

interface AuditedWork<Result> extends Omit<AuditAction, 'target'> {
  /** What the work has changed. */
  targetOf?: ((result: Result) => string) | undefined
}

interface AuditLogDeps {
  store: Pick<Store, 'recordAudit'>
  log: Log
  /** Monotonic milliseconds. */
  now?: () => number
}

const repeatMs = 60_000
/** So many failures are compared with new ones. Beyond that, the oldest is dropped, and would be recorded again. */
const maxCompared = 1000

export function createAuditLog({ store, log, now = () => performance.now() }: AuditLogDeps): AuditLog {
  const recordedAt = new Map<string, number>()

  const record = async (entry: NewAuditEntry): Promise<void> => {
    try {
      await store.recordAudit(entry)
    } catch (error) {
      const { actor, action, target, outcome } = entry
      log.error({ ...describeError(error), actor: actor.name, action, target, outcome }, 'an audit entry is not stored')
    }
  }

  const isRepeated = (key: string): boolean => {
    const last = recordedAt.get(key)
    if (last !== undefined && now() - last < repeatMs) return true
    recordedAt.delete(key)
    recordedAt.set(key, now())
    for (const oldest of recordedAt.keys()) {
      if (recordedAt.size <= maxCompared) break
      recordedAt.delete(oldest)
    }
    return false
  }

  const done: AuditLog['done'] = (source, action) => record({ ...source, ...action, at: Date.now(), outcome: 'done' })

  const failed: AuditLog['failed'] = (source, action, error) => {
    const reason = error instanceof GatewayError ? error.code : 'failed'
    if (isRepeated(JSON.stringify([source.actor.kind, source.actor.name, action.action, reason]))) return
    const outcome = refusals.has(reason) ? 'refused' : 'failed'
    void record({ ...source, ...action, at: Date.now(), outcome, reason })
  }

  return {
    done,
    failed,
    during: async (source, { targetOf, ...action }, work) => {
      try {
        const result = await work()
        await done(source, { ...action, target: targetOf?.(result) })
        return result
      } catch (error) {
        failed(source, action, error)
        throw error
      }
    },
  }
}

const refusals: ReadonlySet<string> = new Set(['forbidden', 'tool_not_available', 'tool_withheld', 'approval_required'])

/** A client that acts over HTTP or a protocol on top of it. */
export const clientSource = (
  { name }: Pick<Principal, 'name'>,
  { via, address }: Pick<AuditSource, 'via' | 'address'>,
): AuditSource => ({ actor: { kind: 'client', name }, via, address })
