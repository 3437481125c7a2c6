// Performs every operation on PostgreSQL, which infers the types of parameters, so that a statement may work on SQLite
// alone.
import { describe, expect, inject, it } from 'vitest'
import { type OperationName, operations, perform, type StoreCall } from '../../../core/store/operations.ts'
import { createDatabase as connect } from '../../../core/store/postgres/database.ts'
import type { Transaction } from '../../../core/store/transaction.ts'
import { createDatabase } from '../../postgres.ts'
import { closeAtEnd, share } from '../../share.ts'
import { silent } from '../acknowledging.ts'
import { openStore } from '../open-store.ts'
import { addSampleRows, createSamples, withoutSql } from '../operation-samples.ts'

const samples = createSamples({ before: 9, limit: 9 })
const names = (Object.keys(operations) as OperationName[]).filter((name) => !withoutSql.has(name))

describe('on PostgreSQL', () => {
  const database = share(async () => {
    const { url, remove } = await createDatabase(inject('postgresUrl'))
    closeAtEnd(remove)
    await (await openStore({ url, dir: '/nowhere', log: silent })).close()
    const opened = await connect(url)
    closeAtEnd(opened.close)
    return opened
  })

  it.each(names)('%s can be performed', async (name) => {
    for (const args of samples[name])
      await rollBack(async (tx) => {
        await addSampleRows(tx)
        await perform(tx, [name, args] as StoreCall)
      })
  })

  async function rollBack(work: (tx: Transaction) => Promise<void>): Promise<void> {
    const stop = new Error('rolled back')
    const done = database().transact('work', {
      begin: 'BEGIN',
      work: async (tx) => {
        await work(tx)
        throw stop
      },
    })
    await expect(done).rejects.toBe(stop)
  }
})
