// Opening the store that storage.url names.
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from './open-store.ts'
import { silent } from './acknowledging.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'store-open-'))
})
afterEach(() => rm(dir, { recursive: true }))

const open = (url: string) => openStore({ url, dir, log: silent })
const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)

describe('storage.url', () => {
  it('is relative to the configuration directory, and creates private files', async () => {
    const store = await open('sqlite:state/deep/gateway.db')
    await store.probe()
    expect(await mode(join(dir, 'state/deep'))).toBe('700')
    expect(await mode(join(dir, 'state/deep/gateway.db'))).toBe('600')
    expect(await mode(join(dir, 'state/deep/gateway.db-wal'))).toBe('600')
    await store.close()
  })

  it('may be absolute', async () => {
    const path = join(dir, 'elsewhere/gateway.db')
    await (await open(`sqlite:${path}`)).close()
    expect(await mode(path)).toBe('600')
  })

  it('names the directory that cannot be created', async () => {
    await writeFile(join(dir, 'state'), 'a file')
    await expect(open('sqlite:state/gateway.db')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining(`${join(dir, 'state')} of the store cannot be created`),
    })
  })

  it('rejects another scheme without repeating the URL', async () => {
    const error = await open('mysql://user:secret@host/db').catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('"mysql:" is not a supported store'),
    })
    expect(String(error)).not.toContain('secret')
  })

  it.each(['', 'sqlite:', 'state/gateway.db'])('rejects %j with an example of a valid URL', async (url) => {
    await expect(open(url)).rejects.toThrow(
      'storage.url must be "sqlite:" and a path, such as "sqlite:state/gateway.db", or the URL of a PostgreSQL ' +
        'database, such as "postgres://user@host/database".',
    )
  })

  it('rejects a path that is no database file', async () => {
    await mkdir(join(dir, 'folder.db'))
    await expect(open('sqlite:folder.db')).rejects.toThrow(`The store ${join(dir, 'folder.db')} cannot be opened: `)
    await writeFile(join(dir, 'text.db'), 'not a database at all, but some text that is long enough to look at')
    await expect(open('sqlite:text.db')).rejects.toThrow(
      'text.db is damaged or is not an SQLite file (file is not a database); stop the gateway',
    )
  })
})
