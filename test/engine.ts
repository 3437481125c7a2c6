// The stores of the gateways that tests start: files of SQLite or, in `npm run test:postgres`, a database of PostgreSQL
// for each folder.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { inject } from 'vitest'
import { query } from './postgres.ts'
import { closeAtEnd } from './share.ts'

const isPostgres = process.env['TEST_ENGINE'] === 'postgres'

/** The section `storage` of a configuration in this folder. Undefined: the store is a file. */
export function storageIn(dir: string): { url: string } | undefined {
  if (!isPostgres) return undefined
  const url = new URL(inject('postgresUrl'))
  url.pathname = `/folder_${hash('sha256', dir).slice(0, 16)}`
  return { url: url.href }
}

/** For a gateway whose test reads or writes the file. */
export const onFile = { storage: {} }

const created = new Set<string>()

/** Creates the database that `storageIn` has put into this file, if it did. It is dropped when the test ends. */
export async function createStoreOf(file: string): Promise<void> {
  const [, name] = isPostgres ? (/\/(folder_\w{16})"/.exec(readFileSync(file, 'utf8')) ?? []) : []
  if (name === undefined || created.has(name)) return
  created.add(name)
  await query(inject('postgresUrl'), `CREATE DATABASE ${name}`)
  closeAtEnd(async () => void (await query(inject('postgresUrl'), `DROP DATABASE ${name} WITH (FORCE)`)))
}
