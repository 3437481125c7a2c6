// The ends of a copy: which stores may be one, and that no gateway uses a store meanwhile.
import { join } from 'node:path'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { assertComplete } from '../../../core/store/copy/end.ts'
import { createPostgresEnd } from '../../../core/store/copy/postgres-end.ts'
import { keyOf, listCopiedTables, readBatch } from '../../../core/store/copy/tables.ts'
import { createSqliteEnd } from '../../../core/store/copy/sqlite-end.ts'
import { connect } from '../../../core/store/sqlite/connection.ts'
import { newRequest, start } from '../../contracts/store-samples.ts'
import { temporaryFolder } from '../../helpers.ts'
import { createDatabase, query } from '../../postgres.ts'
import { silent } from '../acknowledging.ts'
import { openStore } from '../open-store.ts'

async function newDatabase(): Promise<string> {
  const { url, remove } = await createDatabase(inject('postgresUrl'))
  onTestFinished(remove)
  return url
}

const open = (url: string) => openStore({ url, dir: '/nowhere', log: silent })

describe('a PostgreSQL store that is being copied', () => {
  it('is opened by no gateway, and by no other copy', async () => {
    const url = await newDatabase()
    await (await open(url)).close()
    const source = await createPostgresEnd(url).openSource()
    await expect(open(url)).rejects.toThrow('The store is being copied by "svc-gateway store migrate"; start the')
    await expect(createPostgresEnd(url).openSource()).rejects.toThrow(/ is in use; stop all gateways and other copies/)
    await source.close()
    await (await open(url)).close()
  })

  it('gets no writes of a gateway whose lease had expired', async () => {
    const url = await newDatabase()
    const store = await open(url)
    const source = await createPostgresEnd(url).openSource()
    const written = store.setState('probe', 'round', 1)
    await expect.poll(() => query(url, 'SELECT 1 AS waits FROM pg_locks WHERE NOT granted')).toEqual([{ waits: 1 }])
    expect(await query(url, `SELECT count(*) AS n FROM state WHERE owner = 'probe'`)).toEqual([{ n: '0' }])
    await source.close()
    await written
    await store.close()
  })

  it('is refused while a gateway holds a lease', async () => {
    const url = await newDatabase()
    const store = await open(url)
    await store.acquireLease('heartbeat', 'a gateway', Date.now(), Date.now() + 12_000)
    await expect(createPostgresEnd(url).openSource()).rejects.toThrow(/ is in use; stop all gateways/)
    await store.setState('probe', 'round', 2)
    await store.close()
  })
})

describe('a store of an older version', () => {
  it('is not copied before a gateway has upgraded it', async () => {
    const path = join(temporaryFolder(), 'old.db')
    await (await connect(path)).close()
    const reader = await createSqliteEnd(path).openSource()
    await expect(assertComplete({ ...reader, version: reader.version - 1 })).rejects.toThrow(
      `The store sqlite:${path} has tables of an older version; start this version of the gateway on it once,`,
    )
    await reader.close()
  })
})

describe('the tables of a copy', () => {
  it('are all tables of the store but its version and its leases, each with a key', async () => {
    const path = join(temporaryFolder(), 'store.db')
    const { tx, close } = await connect(path)
    const found = await tx.all<{ name: string }>(`SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name`)
    await close()
    const tables = await listCopiedTables()
    const own = new Set(['migration', 'identity', 'lease'])
    expect(tables.map(({ name }) => name)).toEqual(found.map(({ name }) => name).filter((name) => !own.has(name)))
    expect(tables.every(({ key, columns }) => key.length > 0 && columns.length >= key.length)).toBe(true)
  })

  it('are read in batches of a few megabytes', async () => {
    const dir = temporaryFolder()
    const store = await openStore({ url: 'sqlite:store.db', dir, log: silent })
    const body = 'x'.repeat(3 * 1024 * 1024)
    for (const text of ['{}', body, body, '{}', '{}'])
      await store.accept({ at: start, request: newRequest({ body: text }) })
    await store.close()
    const request = (await listCopiedTables()).find(({ name }) => name === 'request')!
    const source = await createSqliteEnd(join(dir, 'store.db')).openSource()
    const sizes: number[] = []
    for (let batch = await readBatch(source.tx, request, []); batch.length > 0;) {
      sizes.push(batch.length)
      batch = await readBatch(source.tx, request, keyOf(request, batch.at(-1)!))
    }
    await source.close()
    expect(sizes).toEqual([2, 3])
  })
})
