// Tests the command `restore` with archives that somebody else has made.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { temporaryFolder, writeConfig } from '../helpers.ts'
import { share } from '../share.ts'
import { silent, url } from '../store/acknowledging.ts'
import { openStore } from '../store/open-store.ts'
import { run } from './command-line.ts'
import { runHere } from './in-process.ts'

/** The folder of a backup as it is unpacked. */
const genuine = share(async () => {
  const dir = temporaryFolder()
  writeConfig(dir)
  await (await openStore({ url, dir, log: silent })).close()
  mkdirSync(join(dir, 'state/workspaces/main'), { recursive: true })
  writeFileSync(join(dir, 'state/workspaces/main/run.sh'), '#!/bin/sh\n')
  await run(dir, ['backup', 'a.tar.gz'])
  return join(dir, 'a.tar.gz')
})

interface Hostile {
  /** Changes the folder before it is packed. */
  change?: (folder: string) => void
  manifest?: Record<string, unknown>
  config?: string
  tar?: readonly string[]
}

const hashOf = (path: string) => createHash('sha256').update(readFileSync(path)).digest('hex')

/** Packs an archive whose manifest fits its regular files. */
function pack({ change = () => undefined, manifest = {}, config, tar = [] }: Hostile): string {
  const folder = temporaryFolder()
  execFileSync('tar', ['-xzf', genuine(), '-C', folder])
  if (config !== undefined) writeFileSync(join(folder, 'files/gateway.json5'), config)
  change(folder)
  const file = join(folder, 'manifest.json')
  const written = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const regular = paths.filter((path) => path !== 'manifest.json' && lstatSync(join(folder, path)).isFile())
  const entries = Object.fromEntries(regular.map((path) => [path, hashOf(join(folder, path))]))
  writeFileSync(file, JSON.stringify({ ...written, entries, ...manifest }))
  const archive = join(temporaryFolder(), 'hostile.tar.gz')
  execFileSync('tar', ['-czf', archive, ...tar, '-C', folder, '.'])
  return archive
}

const target = ['--config', 'gateway.json5']

async function expectRefusal(archive: string, reason: string | RegExp, runOne = runHere): Promise<void> {
  const dir = temporaryFolder()
  const refused = await runOne(dir, ['restore', archive, ...target])
  expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(reason) })
  expect(
    refused.stderr
      .replace(/^Verifying .*\n/, '')
      .trim()
      .split('\n'),
  ).toHaveLength(1)
  expect(readdirSync(dir)).toEqual([])
}

const storage = (value: unknown) => JSON.stringify({ storage: { url: value } })
const put =
  (path: string, text = '') =>
  (folder: string) => {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }

describe('an archive with anything else than files and folders', () => {
  it.each<[string, Hostile['change']]>([
    ['a FIFO', (folder) => execFileSync('mkfifo', [join(folder, 'files/pipe')])],
    ['a FIFO for the manifest', (folder) => execFileSync('mkfifo', [join(folder, 'files/manifest.json')])],
  ])('is refused, such as with %s', async (_what, change) => {
    await expectRefusal(
      pack({ change }),
      /is not restored: it has files\/\S+, which is neither a file nor a folder\.\n$/,
      run,
    )
  })

  it('is refused with a hard link', async () => {
    const change = (folder: string) => linkSync(join(folder, 'store.db'), join(folder, 'files/copy.db'))
    await expectRefusal(pack({ change }), /which is a hard link\.\n$/)
  })

  it.each(['files/notes.md', 'files/gateway.json5'])('is refused with a symbolic link at %s', async (path) => {
    const change = (folder: string) => {
      rmSync(join(folder, path), { force: true })
      symlinkSync('/etc/passwd', join(folder, path))
    }
    await expectRefusal(pack({ change }), `it has ${path}, which is neither a file nor a folder.`)
  })
})

it('restores modes only for the owner, without setuid', async () => {
  const path = 'state/workspaces/main/run.sh'
  const archive = pack({ change: (folder) => chmodSync(join(folder, 'files', path), 0o6777) })
  const dir = temporaryFolder()
  expect(await run(dir, ['restore', archive, ...target])).toMatchObject({ code: 0 })
  expect(statSync(join(dir, path)).mode & 0o7777).toBe(0o700)
  expect(statSync(join(dir, 'gateway.json5')).mode & 0o7777).toBe(0o600)
  expect(statSync(join(dir, 'state/workspaces')).mode & 0o7777).toBe(0o700)
})

describe('an archive whose configuration keeps the store elsewhere', () => {
  it.each<[string, (outside: string) => Hostile]>([
    ['an absolute path', (outside) => ({ config: storage(`sqlite:${outside}`) })],
    ['a path with ..', () => ({ config: storage('sqlite:../gateway.db') })],
    [
      'a path from a file',
      (outside) => ({ config: storage({ file: 'where' }), change: put('files/where', `sqlite:${outside}`) }),
    ],
  ])('is refused: %s', async (_what, createHostile) => {
    const outside = join(temporaryFolder(), 'store', 'gateway.db')
    await expectRefusal(
      pack(createHostile(outside)),
      / keeps the store at \S+gateway\.db, which is outside \S+\. If you expect .* --store \S+gateway\.db\.\n$/,
    )
    expect(existsSync(outside)).toBe(false)
  })

  it.each(['/dev/zero', '../where', 'none'])('is refused: a path from the file %s outside of it', async (file) => {
    await expectRefusal(pack({ config: storage({ file }) }), 'storage.url is in a file that the backup does not have')
  })

  it('is restored there with --store', async () => {
    const [dir, outside] = [temporaryFolder(), join(temporaryFolder(), 'store', 'gateway.db')]
    const archive = pack({ config: storage(`sqlite:${outside}`) })
    expect(await run(dir, ['restore', archive, ...target, '--store', outside])).toMatchObject({ code: 0 })
    const db = new DatabaseSync(outside, { readOnly: true })
    expect(db.prepare('SELECT count(*) AS n FROM run').get()).toEqual({ n: 0 })
    db.close()
  })

  it.each(['gateway.json5', 'state', 'state/workspaces/main/run.sh', 'state/workspaces/main/run.sh/gateway.db', '.'])(
    'is refused when the backup has another file there: %s',
    async (path) => {
      await expectRefusal(pack({ config: storage(`sqlite:${path}`) }), 'where the backup has another file')
    },
  )

  it('is refused when the backup has a log of the store', async () => {
    await expectRefusal(pack({ change: put('files/state/gateway.db-wal', 'x') }), 'where the backup has another file')
  })
})

it('names what the configuration refers to outside its directory', async () => {
  const config = JSON.stringify({
    hooks: { transformsDir: '/opt/transforms' },
    agents: { main: { workspace: '../up' } },
  })
  const dir = temporaryFolder()
  const restored = await run(dir, ['restore', pack({ config }), ...target])
  expect(restored).toMatchObject({ code: 0 })
  expect(restored.stderr).toContain('Named by the configuration, but outside its directory: /opt/transforms\n')
  expect(restored.stderr).toContain(`Named by the configuration, but outside its directory: ${join(dir, '..', 'up')}\n`)
})

describe('an archive that is not what `backup` writes', () => {
  it.each<[string, Hostile, string | RegExp]>([
    ['a configuration without a name', { manifest: { config: undefined } }, 'is not a backup of svc-gateway'],
    ['a configuration outside', { manifest: { config: '../gateway.json5' } }, 'is not a backup of svc-gateway'],
    ['a configuration ".."', { manifest: { config: '..' } }, 'is not a backup of svc-gateway'],
    ['a configuration that it lacks', { manifest: { config: 'none.json5' } }, 'has no file files/none.json5'],
    ['escape characters', { manifest: { createdAt: '\u001b[2J' } }, 'is not a backup of svc-gateway'],
    ['a manifest of a later version', { manifest: { format: 2 } }, 'was written by a newer version of svc-gateway'],
    ['a list for a manifest', { manifest: { entries: [] } }, 'is not a backup of svc-gateway'],
    ['an invalid configuration', { config: '{' }, 'is not restored: its configuration cannot be read'],
    ['deep nesting', { config: '['.repeat(100_000) }, 'is not restored: its configuration cannot be read'],
    ['a long configuration', { config: ' '.repeat(5_000_000) }, 'is not restored: its configuration cannot be read'],
    ['no store', { change: (folder) => unlinkSync(join(folder, 'store.db')) }, 'has no file store.db'],
    ['another store', { change: put('store.db', 'text') }, /The store in \S+ is damaged: /],
  ])('is refused with one sentence: %s', async (_what, hostile, reason) => {
    await expectRefusal(pack(hostile), reason)
  })

  it('is refused when its files are larger than what it holds', async () => {
    const change = (folder: string) => {
      writeFileSync(join(folder, 'files/sparse'), '')
      truncateSync(join(folder, 'files/sparse'), 50_000_000)
    }
    await expectRefusal(pack({ change, tar: ['--sparse'] }), 'has files that are larger than what it holds of them')
  })

  it('is refused when it is a folder or a FIFO', async () => {
    const folder = temporaryFolder()
    execFileSync('mkfifo', [join(folder, 'pipe')])
    for (const path of [folder, join(folder, 'pipe')]) await expectRefusal(path, /is not a file; name the archive/, run)
  })

  it('escapes its names', async () => {
    const archive = pack({ manifest: { entries: { 'files/\u001b[2J\n': 'x' } } })
    await expectRefusal(archive, /is damaged: \S+ is not what was backed up\.\n$/)
  })
})
