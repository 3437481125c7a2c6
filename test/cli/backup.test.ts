// Tests the commands `backup` and `restore` as child processes, also while a gateway works.
import { execFile, execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { program } from '../program.ts'
import { share } from '../share.ts'
import { silent, url } from '../store/acknowledging.ts'
import { openStore } from '../store/open-store.ts'
import { runHere } from './in-process.ts'
import { keys, openTerminal } from './terminal.ts'

async function run(cwd: string, ...args: string[]) {
  const done = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>()
  execFile(process.execPath, [program, ...args], { cwd, env: { ...process.env, HOME: cwd } }, (error, stdout, stderr) =>
    done.resolve({ code: error?.code ?? 0, stdout, stderr }),
  )
  return await done.promise
}

const files: Record<string, string> = {
  'state/workspaces/main/HEARTBEAT.md': 'Water the plants.',
  'transforms/text/plain.js': 'export const plain = 5',
  'secrets/github': 'the-secret-of-github-0123456789',
  'team/support/notes.md': 'Ada likes tea.',
  'plug.ts': 'export default []',
  'package.json': '{"dependencies":{"svc-gateway-plugin-dice":"^1.0.0"}}',
  'package-lock.json': '{"lockfileVersion":3}',
  'shop/package.json': '{"name":"shop"}',
  'shop/src/index.ts': "export { default } from './list.ts'",
  'shop/src/list.ts': 'export default []',
}
const config = {
  hooks: { presets: ['github'], github: { auth: { secret: { file: 'secrets/github' } } } },
  agents: { main: {}, support: { workspace: 'team/support' } },
  plugins: ['./plug.ts', './shop/src/index.ts'],
}

function fill(dir: string): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(dir, path, '..'), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  symlinkSync('HEARTBEAT.md', join(dir, 'state/workspaces/main/link.md'))
}

interface Line {
  type: string
  step?: string
  done?: number
  total?: number
}

const linesOf = (text: string): Line[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)

const submit = ({ post }: RunningGateway, message: string) =>
  post('/hooks/agent', { message, wakeMode: 'next-heartbeat' })

/** Returns the folder of a stopped gateway. */
async function leaveGateway(): Promise<string> {
  const dir = temporaryFolder()
  writeConfig(dir)
  await (await openStore({ url, dir, log: silent })).close()
  return dir
}

/** A backup, and what the command has printed. */
const shared = share(async () => {
  const dir = await leaveGateway()
  return { archive: join(dir, 'a.tar.gz'), saved: await run(dir, 'backup', 'a.tar.gz', '--json') }
})

describe('svc-gateway backup and restore', () => {
  it('saves a gateway that accepts requests, and restores all that was accepted before, and every file', async () => {
    const [dir, other] = [temporaryFolder(), temporaryFolder()]
    fill(dir)
    const gateway = await startGateway(config, dir)
    const before = await Promise.all(Array.from({ length: 20 }, (_, index) => submit(gateway, `job ${index}`)))
    const [saved] = await Promise.all([
      run(dir, 'backup', 'gateway.tar.gz'),
      ...Array.from({ length: 50 }, (_, index) => submit(gateway, `later ${index}`)),
    ])
    const archive = join(dir, 'gateway.tar.gz')
    expect(saved).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Wrote \S+gateway\.tar\.gz \(\d+\.\d MB\) and verified it\. It contains secrets/),
      stderr: expect.stringMatching(
        /^Copying the store .*\nCopying other files \(\d+ files\)\nWriting the archive .*\nVerifying the archive .*\n$/,
      ),
    })
    expect(statSync(archive).mode & 0o777).toBe(0o600)
    expect(readdirSync(dir).filter((name) => name.startsWith('.'))).toEqual([])

    const restored = await run(other, 'restore', archive, '--config', 'gateway.json5')
    expect(restored).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(
        /^Restored the backup of 20.*\nInstall .* first: npm install --ignore-scripts --prefix /,
      ),
    })
    for (const [path, text] of Object.entries(files)) expect(readFileSync(join(other, path), 'utf8')).toBe(text)
    expect(readFileSync(join(other, 'state/workspaces/main/link.md'), 'utf8')).toBe('Water the plants.')
    expect(statSync(join(other, 'gateway.json5')).mode & 0o777).toBe(0o600)
    expect(statSync(join(other, 'state')).mode & 0o777).toBe(0o700)
    const again = await startGateway(config, other)
    for (const { body } of before) expect(await again.get(`/runs/${body.runId}`)).toMatchObject({ status: 200 })
  })

  it('replaces an existing gateway only with --force, only when it is stopped, and keeps what was there', async () => {
    const dir = temporaryFolder()
    fill(dir)
    const running = await startGateway(config, dir)
    expect((await run(dir, 'backup', 'a.tar.gz')).code).toBe(0)
    const { body } = await submit(running, 'after the backup')
    const refused = await run(dir, 'restore', 'a.tar.gz')
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/already has .*state.*gateway\.json5\. Use --force to replace them; they are kept/),
    })
    const inUse = `is in use by process ${process.pid}; stop it first`
    const tooEarly = await run(dir, 'restore', 'a.tar.gz', '--force')
    expect(tooEarly).toMatchObject({ code: 1, stderr: expect.stringContaining(inUse) })
    expect(await running.get(`/runs/${body.runId}`)).toMatchObject({ status: 200 })
    await running.gateway.close()

    expect(await run(dir, 'restore', 'a.tar.gz', '--force')).toMatchObject({ code: 0 })
    const kept = readdirSync(dir).filter((name) => name.includes('.before-restore-'))
    expect(kept.map((name) => name.replace(/\.before-.*/, ''))).toEqual(
      expect.arrayContaining(['gateway.json5', 'state', 'transforms']),
    )
    const again = await startGateway(config, dir)
    expect(await again.get(`/runs/${body.runId}`)).toMatchObject({ status: 404 })
  })

  it('refuses a backup that is damaged, and changes nothing', async () => {
    const { archive } = shared()
    const other = temporaryFolder()
    const bytes = readFileSync(archive)
    writeFileSync(join(other, 'cut.tar.gz'), bytes.subarray(0, bytes.length / 2))
    writeFileSync(join(other, 'text.tar.gz'), 'not an archive')
    for (const name of ['cut.tar.gz', 'text.tar.gz']) {
      const refused = await runHere(other, ['restore', name, '--config', 'gateway.json5'])
      expect(refused).toMatchObject({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining('is damaged or is not a backup'),
      })
    }
    const folder = temporaryFolder()
    execFileSync('tar', ['-xzf', archive, '-C', folder])
    writeFileSync(join(folder, 'files', 'gateway.json5'), '{}')
    execFileSync('tar', ['-czf', join(other, 'changed.tar.gz'), '-C', folder, '.'])
    const changed = await runHere(other, ['restore', 'changed.tar.gz', '--config', 'gateway.json5'])
    expect(changed).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('gateway.json5 is not what was backed up'),
    })
    expect(readdirSync(other).toSorted()).toEqual(['changed.tar.gz', 'cut.tar.gz', 'text.tar.gz'])
  })

  it('prints progress and results as JSON', async () => {
    const { archive, saved } = shared()
    expect(saved).toMatchObject({ code: 0, stderr: '' })
    const steps = linesOf(saved.stdout).map(({ type, step }) => step ?? type)
    expect([...new Set(steps)]).toEqual(['store', 'files', 'archive', 'verify', 'result'])
    expect(linesOf(saved.stdout).at(-1)).toMatchObject({ file: archive, bytes: statSync(archive).size, outside: [] })
    for (const { done = 0, total = 0 } of linesOf(saved.stdout)) expect(done).toBeLessThanOrEqual(total)

    const other = temporaryFolder()
    const restored = await runHere(other, ['restore', archive, '--config', 'gateway.json5', '--json'])
    const file = join(other, 'gateway.json5')
    expect(restored).toMatchObject({ code: 0, stderr: '' })
    expect(linesOf(restored.stdout).at(-1)).toEqual({
      type: 'result',
      file,
      createdAt: expect.any(String),
      kept: [],
      outside: [],
    })
  })

  it('saves the file to which a link leads, and leaves out links that lead elsewhere', async () => {
    const [dir, other] = [await leaveGateway(), temporaryFolder()]
    writeFileSync(join(other, 'secret'), 'private')
    writeFileSync(join(dir, 'state', 'notes.md'), 'Ada likes tea.')
    symlinkSync('notes.md', join(dir, 'state', 'near'))
    symlinkSync(join(other, 'secret'), join(dir, 'state', 'far'))
    symlinkSync('.', join(dir, 'state', 'folder'))
    const saved = await runHere(dir, ['backup', 'a.tar.gz'])
    const leftOut = saved.stderr.split('\n').filter((line) => line.startsWith('Not included'))
    expect(leftOut).toEqual([
      'Not included, because it is a link to a folder or to another place: state/far',
      'Not included, because it is a link to a folder or to another place: state/folder',
    ])
    expect((await runHere(other, ['restore', join(dir, 'a.tar.gz'), '--config', 'gateway.json5'])).code).toBe(0)
    expect(lstatSync(join(other, 'state', 'near')).isFile()).toBe(true)
    expect(readFileSync(join(other, 'state', 'near'), 'utf8')).toBe('Ada likes tea.')
    expect(readdirSync(join(other, 'state'))).not.toContain('far')
  })

  it('shows a bar in a terminal, and Ctrl-C leaves nothing behind', async () => {
    const dir = await leaveGateway()
    writeFileSync(join(dir, 'state', 'large'), randomBytes(50_000_000))
    const before = readdirSync(dir).toSorted()
    const { see, press, ended } = openTerminal(dir, ['backup', 'a.tar.gz'])
    await see('- Writing the archive: 0.0 of 50.')
    press(keys.ctrlC)
    await see('The backup was interrupted, and nothing was written.')
    expect(await ended).toBe(130)
    expect(readdirSync(dir).toSorted()).toEqual(before)
  })

  it('says why a backup is not possible', async () => {
    const without = temporaryFolder()
    writeConfig(without)
    const never = await runHere(without, ['backup', 'a.tar.gz'])
    expect(never).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^There is no store at \S+; the gateway has never/),
    })
    const dir = await leaveGateway()
    copyFileSync(join(dir, 'gateway.json5'), join(dir, 'a.tar.gz'))
    const existing = await runHere(dir, ['backup', 'a.tar.gz'])
    expect(existing.stderr).toMatch(/a\.tar\.gz already exists; choose another name, or use --force to replace it\.\n$/)
    expect((await runHere(dir, ['backup', 'a.tar.gz', '--force'])).code).toBe(0)
    const nowhere = await runHere(dir, ['backup', 'none/a.tar.gz'])
    expect(nowhere.stderr).toMatch(/^The folder \S+none does not exist; create it first\.\n$/)
    expect((await runHere(dir, ['restore', 'b.tar.gz'])).stderr).toMatch(/b\.tar\.gz does not exist\.\n$/)
    expect(existsSync(join(dir, 'none'))).toBe(false)
  })

  it.each(['postgres://gateway:a-secret@db.example.org/gateway', { file: 'secrets/database-url' }])(
    'refuses a PostgreSQL store, %j, and names pg_dump',
    async (url) => {
      const dir = temporaryFolder()
      fill(dir)
      writeFileSync(join(dir, 'secrets/database-url'), 'postgres://gateway:a-secret@db.example.org/gateway')
      writeConfig(dir, { ...config, storage: { url } })
      expect(await runHere(dir, ['backup', 'a.tar.gz'])).toEqual({
        code: 1,
        stdout: '',
        stderr:
          'The store is a PostgreSQL database, which "backup" and "restore" do not copy. Use pg_dump and pg_restore ' +
          'for the database, and copy the configuration and the workspaces.\n',
      })
      expect(existsSync(join(dir, 'a.tar.gz'))).toBe(false)
    },
  )
})
