// Looks at a PostgreSQL store: whether the server answers and accepts the user, and the version of the tables.
import { GatewayError } from '../../errors.ts'
import type { StoreReport } from '../report.ts'
import { openConnection } from './database.ts'
import { isRefusal } from './failure.ts'
import { readVersion } from './migrate.ts'
import { explainRefusal } from './refusal.ts'
import { createTransaction, createTranslation } from './transaction.ts'

export async function inspectPostgres(url: string, limitMs: number): Promise<StoreReport> {
  try {
    const client = await openConnection(url, { connectMs: limitMs })
    try {
      await client.query(`SET statement_timeout = ${limitMs}`)
      return { state: 'readable', version: await readVersion(createTransaction(client, createTranslation())), bytes: 0 }
    } finally {
      await client.end()
    }
  } catch (error) {
    if (error instanceof GatewayError) return { state: 'unusable', reason: error.message }
    const reason = `The PostgreSQL database of storage.url cannot be used: ${explainRefusal(error)}`
    return { state: isRefusal(error) ? 'refused' : 'unreachable', reason }
  }
}
