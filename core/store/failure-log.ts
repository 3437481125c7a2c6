// Logs when reading or writing the store breaks and when it recovers.
import type { Log } from '../plugin/plugin.ts'
import type { FailureCode, GroupOutcome } from './group-commit.ts'
import { type StoreCall, isWrite } from './operations.ts'

export interface FailureLog {
  /** Logs one line when reads or writes break and one when they recover. Damage does not heal, so it is logged once. */
  record(calls: readonly StoreCall[], outcome: GroupOutcome): void
  /** True: a write has failed, and no thorough probe has succeeded since. */
  cannotWrite(): boolean
  close(): void
}

interface FailureLogDeps {
  log: Log
  /** Tries whether everything can be written. Its call is recorded, too. */
  probe(): Promise<void>
}

const messages = {
  write: { failed: 'the store cannot be written', recovered: 'the store can be written again' },
  read: { failed: 'the store cannot be read', recovered: 'the store can be read again' },
} as const

const probeEveryMs = 1_000

/**
 * Other writes may succeed while some fail, so only a thorough probe ends an outage of writes: otherwise each refused
 * request could begin another one.
 */
export function createFailureLog({ log, probe }: FailureLogDeps): FailureLog {
  const isBroken = { write: false, read: false }
  let isDamaged = false
  let probes: NodeJS.Timeout | undefined

  function report(kind: 'write' | 'read', reason: string | undefined): void {
    if (reason !== undefined && !isBroken[kind]) log.error({ reason }, messages[kind].failed)
    if (reason === undefined && isBroken[kind]) log.info({}, messages[kind].recovered)
    isBroken[kind] = reason !== undefined
  }

  function reportWrites(reason: string | undefined): void {
    report('write', reason)
    if (reason === undefined) close()
    else probes ??= setInterval(() => void probe().catch(() => undefined), probeEveryMs).unref()
  }

  function close(): void {
    clearInterval(probes)
    probes = undefined
  }

  function record(calls: readonly StoreCall[], outcome: GroupOutcome): void {
    if ('unavailable' in outcome) return reportWrites(outcome.unavailable)
    const findReason = (code: FailureCode, concerns: (call: StoreCall) => boolean): string | undefined => {
      const found = [...outcome.failures].find(
        ([index, failure]) => failure.code === code && concerns(calls[index] as StoreCall),
      )
      return found?.[1].reason
    }
    const damage = findReason('store_damaged', () => true)
    if (damage !== undefined && !isDamaged) log.error({ reason: damage }, 'the store is damaged')
    isDamaged ||= damage !== undefined
    const obstacle = findReason('store_unavailable', isWrite)
    if (obstacle !== undefined || (isBroken.write && calls.some(isThoroughProbe))) reportWrites(obstacle)
    if (!calls.every(isWrite)) report('read', findReason('store_unavailable', isRead))
  }

  return { record, cannotWrite: () => isBroken.write, close }
}

const isRead = (call: StoreCall): boolean => !isWrite(call)
const isThoroughProbe = ([name, args]: StoreCall): boolean => name === 'probe' && args[0] === true
