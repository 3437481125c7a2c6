// Opening the store that storage.url names.
import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
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

/** Root may write everywhere, so it acts as another user. */
async function asNobody<Result>(work: () => Promise<Result>): Promise<Result> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    return await work()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

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
    const state = join(dir, 'state')
    await writeFile(state, 'a file')
    for (const url of ['sqlite:state/gateway.db', 'sqlite:state/deep/gateway.db'])
      await expect(open(url)).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(`${state}.* of the store cannot be created .*; move the file away`),
      })
  })

  it.each([0o000, 0o500, 0o600])('names the directory that this user may not use, with mode %o', async (rights) => {
    const state = join(dir, 'state')
    await mkdir(state)
    await chmod(state, rights)
    await chmod(dir, 0o755)
    await expect(asNobody(() => open('sqlite:state/gateway.db'))).rejects.toMatchObject({
      code: 'store_unavailable',
      message:
        `The store ${state}/gateway.db cannot be locked (unable to open database file); ` +
        `give the directory ${state} and its files to the gateway's user, or choose another storage.url.`,
    })
  })

  it.each(['lock', 'pid'])('names the directory whose file .%s this user may not write', async (extension) => {
    await mkdir(join(dir, `gateway.db.${extension}`))
    await expect(open('sqlite:gateway.db')).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining(`; give the directory ${dir} and its files to the gateway's user, or choose`),
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
