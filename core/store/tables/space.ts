// The disk space of the store, over all tables.
import type { Space, Transaction } from '../transaction.ts'

/** The operations of the store in this file. */
export const spaceWrites = { reclaimSpace }
export const spaceReads = { getSpace }

export async function getSpace(tx: Transaction): Promise<Space> {
  return await tx.getSpace()
}

/** Returns up to this many free bytes to the disk, rounded up to whole units of the engine. */
export async function reclaimSpace(tx: Transaction, bytes: number): Promise<void> {
  await tx.reclaimSpace(bytes)
}
