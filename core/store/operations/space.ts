// The room that the store takes on its disk.
import type { Space } from '../store.ts'
import type { Transaction } from './transaction.ts'

export async function space(tx: Transaction): Promise<Space> {
  return tx.space()
}

export async function shrink(tx: Transaction, bytes: number): Promise<void> {
  await tx.shrink(bytes)
}
