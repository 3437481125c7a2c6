// Logs when reading or writing the store breaks and when it recovers.
import type { Log } from '../plugin/plugin.ts'
import type { FailureCode, GroupOutcome } from './group-commit.ts'
import { type StoreCall, isWrite } from './operations.ts'

const messages = {
  write: { failed: 'the store cannot be written', recovered: 'the store can be written again' },
  read: { failed: 'the store cannot be read', recovered: 'the store can be read again' },
} as const

/** Logs one line when reads or writes break and one when they recover. Damage does not heal, so it is logged once. */
export function createFailureLog(log: Log): (calls: readonly StoreCall[], outcome: GroupOutcome) => void {
  const isBroken = { write: false, read: false }
  let isDamaged = false

  function report(kind: 'write' | 'read', reason: string | undefined): void {
    if (reason !== undefined && !isBroken[kind]) log.error({ reason }, messages[kind].failed)
    if (reason === undefined && isBroken[kind]) log.info({}, messages[kind].recovered)
    isBroken[kind] = reason !== undefined
  }

  return (calls, outcome) => {
    if ('unavailable' in outcome) return report('write', outcome.unavailable)
    const findReason = (code: FailureCode, concerns: (call: StoreCall) => boolean): string | undefined => {
      const found = [...outcome.failures].find(
        ([index, failure]) => failure.code === code && concerns(calls[index] as StoreCall),
      )
      return found?.[1].reason
    }
    const damage = findReason('store_damaged', () => true)
    if (damage !== undefined && !isDamaged) log.error({ reason: damage }, 'the store is damaged')
    isDamaged ||= damage !== undefined
    if (calls.some(isWrite)) report('write', findReason('store_unavailable', isWrite))
    if (!calls.every(isWrite)) report('read', findReason('store_unavailable', isRead))
  }
}

const isRead = (call: StoreCall): boolean => !isWrite(call)
