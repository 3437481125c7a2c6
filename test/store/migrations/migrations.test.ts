// Migrations: newer tables are refused, older ones are backed up and migrated.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../open-store.ts'
import { type Migration } from '../../../core/store/migrations/migrate.ts'
import { migrations } from '../../../core/store/migrations/migrations.ts'
import { connect } from '../../../core/store/sqlite/connection.ts'
import { silent } from '../acknowledging.ts'

let dir: string
let path: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'store-schema-'))
  path = join(dir, 'gateway.db')
})
afterEach(() => rm(dir, { recursive: true }))

const open = () => openStore({ url: 'sqlite:gateway.db', dir, log: silent })
const notes: Migration = {
  name: '001-notes',
  statements: ({ sequence, table }) => [`CREATE TABLE note (seq ${sequence}, text TEXT)${table}`],
}
const dates: Migration = {
  name: '002-dates',
  statements: ({ integer }) => [`ALTER TABLE note ADD COLUMN at ${integer}`],
}
const broken: Migration = {
  name: '003-broken',
  statements: () => ['CREATE TABLE half (a TEXT)', 'CREATE TABLE half (a TEXT)'],
}

describe('tables of a newer version', () => {
  it('are refused with advice', async () => {
    await (await open()).close()
    const db = new DatabaseSync(path)
    db.exec(`INSERT INTO migration (version, name) VALUES (999, 'from the future')`)
    db.close()
    const refused = open()
    await expect(refused).rejects.toThrow(
      `The store has tables of version 999, but this program knows them only up to version ${migrations.length};`,
    )
    await expect(refused).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})

describe('tables of an older version', () => {
  it('are backed up, then migrated without losing a row', async () => {
    const old = await connect(path, { steps: [notes] })
    await old.tx.run(`INSERT INTO note (text) VALUES ('kept')`)
    await old.close()
    const renewed = await connect(path, { steps: [notes, dates] })
    expect(await renewed.tx.all('SELECT text, at FROM note')).toEqual([{ text: 'kept', at: null }])
    await renewed.close()
    const copy = new DatabaseSync(`${path}.before-version-2`, { readOnly: true })
    expect(copy.prepare('SELECT * FROM note').all()).toEqual([{ seq: 1, text: 'kept' }])
    copy.close()
  })

  it('stay unchanged when a migration fails', async () => {
    const old = await connect(path, { steps: [notes, dates] })
    await old.close()
    await expect(connect(path, { steps: [notes, dates, broken] })).rejects.toThrow('half already exists')
    const again = await connect(path, { steps: [notes, dates] })
    expect(await again.tx.all(`SELECT name FROM sqlite_schema WHERE name = 'half'`)).toEqual([])
    await again.close()
  })

  it('are not backed up when no migration is needed', async () => {
    await (await open()).close()
    await (await open()).close()
    expect((await readdir(dir)).filter((name) => name.includes('before-version'))).toEqual([])
  })
})
