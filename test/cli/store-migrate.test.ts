// Tests the command `store migrate` as a child process, with gateways on the stores before and after.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import type { Store } from '../../core/store/store.ts'
import { newDelivery, newEvent, newSchedule } from '../contracts/store-samples.ts'
import { type ModelServer, messagesOf, startModel } from '../doubles/model.ts'
import { type Document, spawnGateway, startGateway, startGatewayOn, temporaryFolder, writeConfig } from '../helpers.ts'
import { createDatabase, query } from '../postgres.ts'
import { ended, post } from '../reliability/process.ts'
import { silent } from '../store/acknowledging.ts'
import { openStore } from '../store/open-store.ts'
import { type Done, run } from './command-line.ts'

/** An empty database, until the test ends. */
async function newDatabase(): Promise<string> {
  const { url, remove } = await createDatabase(inject('postgresUrl'))
  onTestFinished(remove)
  return url
}

const passwordOf = (url: string): string => new URL(url).password

async function withStore(dir: string, work: (store: Store) => Promise<unknown>): Promise<void> {
  const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log: silent })
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

const migrate = (dir: string, ...args: string[]): Promise<Done> => run(dir, ['store', 'migrate', ...args])

/** Leaves the store of a gateway, with one event. */
async function leaveEvent(dir: string): Promise<void> {
  writeConfig(dir)
  await withStore(dir, (store) => store.accept({ at: Date.now(), events: [newEvent()] }))
}

const task = (message: string, changes: Document = {}) => ({
  message,
  sessionKey: 'hook:notes',
  deliver: false,
  wakeMode: 'next-heartbeat',
  ...changes,
})

const sessionKeys = { allowRequestSessionKey: true }

/** Starts a gateway on SQLite, and stops it with history, a queued run, a waiting event and a pending delivery. */
async function leaveWork(dir: string, model: ModelServer): Promise<{ file: string; first: string; queued: string }> {
  const file = writeConfig(dir, {
    gateway: { drainSeconds: 0 },
    hooks: sessionKeys,
    providers: model.providers,
    agents: { defaults: { model: 'double/m' } },
    storage: { retention: { maxMb: 500 } },
    log: { level: 'error' },
  })
  writeFileSync(file, readFileSync(file, 'utf8').replace('{', '{ // a comment that stays'))
  const { gateway, url } = await startGatewayOn(file)
  model.script({ text: 'Noted: blue.' }, { hang: true })
  const once = { 'idempotency-key': 'once' }
  const first = await post(url, ['agent', task('The colour is blue.'), { ...once, prefer: 'wait=20' }])
  expect(first.body.status).toBe('succeeded')
  await post(url, ['agent', task('hangs')])
  await model.request(1)
  const queued = await post(url, ['agent', task('Which colour is it?')])
  await post(url, ['wake', { text: 'The roof leaks.', mode: 'next-heartbeat' }])
  await gateway.close()
  await withStore(dir, async (store) => {
    const route = { sessionKey: 'agent:main:main', agentId: 'main', channel: 'console', accountId: 'default' }
    await store.accept({
      at: Date.now(),
      events: [newEvent({ sessionKey: 'agent:other:main', text: 'NUL \0 and ünïcode 🦀' })],
      deliveries: [newDelivery({ channel: 'console', to: 'console', text: 'From the outbox.' })],
      route: { ...route, to: 'console', threadId: null, route: { any: 'value' } },
      state: { owner: 'channel pager', key: 'cursor', value: { offset: 7 } },
    })
    await store.addSchedule(newSchedule({ id: 'daily', nextAt: Date.now() + 86_400_000 }), { at: 1, most: 9 })
    await store.useEffects({ scopes: ['agent:main:main'], effects: ['sends'] })
  })
  return { file, first: first.body.runId, queued: queued.body.runId }
}

describe('svc-gateway store migrate', () => {
  it('moves a gateway to PostgreSQL, where all of its work continues, and back', async () => {
    const [dir, model, url] = [temporaryFolder(), await startModel(), await newDatabase()]
    const { file, first, queued } = await leaveWork(dir, model)
    writeFileSync(join(dir, 'database-url'), `${url}\n`)
    const there = await migrate(dir, '--to', '{ file: "database-url" }', '--write-config')
    expect(there).toMatchObject({ code: 0, stderr: expect.stringContaining('The copy is complete.') })
    // Nobody was asked for an approval, nothing was done over the API, and the console gives messages no ids.
    const lines = there.stdout
      .trimEnd()
      .split('\n')
      .filter((line) => !/^(?:approval|audit|sent_message) /.test(line))
    expect(lines.every((line) => / [1-9]\d* +[0-9a-f]{32} {2}equal$/.test(line))).toBe(true)
    const names =
      'budget_usage event exposure idempotency outbox request route run schedule session session_usage state step ' +
      'transcript usage'
    expect(lines.map((line) => line.split(' ')[0])).toEqual(names.split(' '))
    const config = readFileSync(file, 'utf8')
    expect(config).toContain('{ // a comment that stays')
    expect(config).toMatch(/url: \{ file: 'database-url' \}/)
    expect(config).not.toContain('maxMb')
    expect(await query(url, `SELECT text FROM event WHERE session_key = 'agent:other:main'`)).toEqual([
      { text: 'NUL \uFFFD and ünïcode 🦀' },
    ])

    model.otherwise({ text: 'It is done.' })
    const copy = await startGatewayOn(file)
    expect(await ended(copy.url, queued)).toMatchObject({ status: 'succeeded' })
    const asked = model.requests.find((request) => messagesOf(request).at(-1)?.content.includes('Which colour'))
    expect(JSON.stringify(asked && messagesOf(asked))).toContain('Noted: blue.')
    const again = await post(copy.url, ['agent', task('The colour is blue.'), { 'idempotency-key': 'once' }])
    expect(again.body).toMatchObject({ runId: first })
    await expect.poll(() => readFileSync(join(dir, 'console.jsonl'), 'utf8')).toContain('From the outbox.')
    await post(copy.url, ['wake', { text: 'And the cellar is wet.' }])
    const texts = () => model.requests.map((request) => messagesOf(request).at(-1)?.content)
    await expect.poll(texts).toContainEqual(expect.stringContaining('The roof leaks.'))
    await copy.gateway.close()

    const back = await migrate(dir, '--to', 'sqlite:state/back.db', '--write-config')
    expect(back.code).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain(`url: 'sqlite:state/back.db'`)
    const old = await startGatewayOn(file)
    expect((await old.get(`/runs/${queued}`)).body.status).toBe('succeeded')
    const third = await post(old.url, ['agent', task('The colour is blue.'), { 'idempotency-key': 'once' }])
    expect(third.body).toMatchObject({ runId: first })
    const next = await post(old.url, ['agent', task('More?'), { prefer: 'wait=20' }])
    expect(next.body.status).toBe('succeeded')

    expect([there, back].flatMap(Object.values).join('')).not.toContain(passwordOf(url))
  })

  it('counts with --dry-run while the gateway runs, and writes nothing', async () => {
    const [dir, url] = [temporaryFolder(), await newDatabase()]
    const gateway = await startGateway({ agents: { defaults: { heartbeat: { every: 0 } } } }, dir)
    await gateway.post('/hooks/wake', { text: 'Hi', mode: 'next-heartbeat' })
    const counted = await migrate(dir, '--to', url, '--dry-run')
    expect(counted).toMatchObject({ code: 0, stderr: '' })
    expect(counted.stdout).toMatch(/^event +1\n/m)
    expect(counted.stdout).toMatch(/\nWould copy 3 rows of sqlite:\S+gateway\.db\. The new store is empty\. Nothing/)
    expect(await query(url, `SELECT to_regclass('migration') AS found`)).toEqual([{ found: null }])
  })
})

describe('a migration that is not possible', () => {
  it('is refused while a gateway runs on the source', async () => {
    const [dir, url] = [temporaryFolder(), await newDatabase()]
    const { gateway } = await startGateway({}, dir)
    expect(await migrate(dir, '--to', url)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(`is in use by process ${process.pid}; stop the gateway, and run the command again\\.\n$`),
      ),
    })
    await gateway.close()
    const shared = await spawnGateway(writeConfig(dir, { storage: { url } }))
    onTestFinished(async () => void (await shared.end('SIGKILL')))
    expect(shared.output.join()).toContain('all other state is in the PostgreSQL database of storage.url.')
    expect([...shared.output, ...shared.log].join()).not.toContain(passwordOf(url))
    await expect.poll(() => query(url, 'SELECT 1 AS held FROM lease WHERE until > 0')).not.toEqual([])
    for (const args of [
      ['--to', 'sqlite:new.db'],
      ['--from', 'sqlite:state/gateway.db', '--to', url],
    ])
      expect(await migrate(dir, ...args)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^The store postgres:\/\/127\.0\.0\.1:\d+\/\w+ is in use; stop all gateways/),
      })
    expect((await post(shared.url, ['wake', { text: 'Hi', mode: 'next-heartbeat' }])).status).toBe(200)
  })

  it('is refused with one sentence that names the option and the fix', async () => {
    const [dir, url] = [temporaryFolder(), await newDatabase()]
    writeConfig(dir)
    const refusals: [args: string[], sentence: string | RegExp][] = [
      [[], "error: required option '--to <url>' not specified\n"],
      [['--to', url], /^There is no store at sqlite:\S+gateway\.db; no gateway has been started on it\.\n$/],
      [['--to', 'mysql://x'], /^--to must be "sqlite:" and a path, .*; "mysql:" is not a supported store\.\n$/],
      [['--to', '{ file: "none" }'], /^--to refers to a file that cannot be read \(ENOENT\): \S+none\.\n$/],
      [['--to', '${NONE}'], /^--to needs the environment variable NONE, which is not set; set it, or write/],
      [['--to', '{ url'], '--to must be a URL, or an object such as { file: "secrets/database-url" }.\n'],
      [['--to', '{}'], '--to must be a string or { file: "path" }.\n'],
      [['--to', 'sqlite:a.db'], 'Both stores are SQLite files; use "svc-gateway backup" and "restore" to move one.\n'],
      [['--from', url, '--to', url], 'Both stores are PostgreSQL databases; use pg_dump and pg_restore to move one.\n'],
      [['--from', 'sqlite:gateway.json5', '--to', url], /^The copy failed: file is not a database\. When the cause/],
      [['--from', url, '--to', 'sqlite:a.db'], /^There is no store at postgres:\/\/127\.0\.0\.1:\d+\/\w+; no gateway/],
    ]
    const results = await Promise.all(refusals.map(([args]) => migrate(dir, ...args)))
    for (const [index, [, sentence]] of refusals.entries())
      expect(results[index]).toMatchObject({
        code: 1,
        stderr: typeof sentence === 'string' ? sentence : expect.stringMatching(sentence),
      })
    await leaveEvent(dir)
    const wrong = await migrate(dir, '--to', url.replace(passwordOf(url), 'a-wrong-password'))
    expect(wrong).toMatchObject({
      code: 1,
      stderr: 'The PostgreSQL database cannot be used: password authentication failed for user "postgres".\n',
    })
    expect((await migrate(dir, '--to', url)).code).toBe(0)
    expect(await migrate(dir, '--to', url)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ already holds data \(table event\); give --to an empty database or a new file\./),
    })
  })
})

describe('the advice at the end', () => {
  it('hides the password of the new store, which may come from PGPASSWORD', async () => {
    const [dir, url] = [temporaryFolder(), await newDatabase()]
    await leaveEvent(dir)
    const from = `sqlite:${dir}/state/gateway.db`
    const done = await migrate(temporaryFolder(), '--from', from, '--to', url)
    expect(done).toMatchObject({ code: 0, stderr: expect.stringContaining(`postgres://postgres:<password>@127.0.0.1`) })
    expect(done.stdout + done.stderr).not.toContain(passwordOf(url))
    const other = new URL(await newDatabase())
    const env = { PGPASSWORD: other.password }
    other.password = ''
    const args = ['store', 'migrate', '--from', from, '--to', `${other.href}?sslmode=disable`]
    const elsewhere = temporaryFolder()
    expect(await run(elsewhere, args, { env })).toMatchObject({ code: 0 })
    expect(await run(elsewhere, [...args, '--write-config'], { env })).toMatchObject({
      code: 1,
      stderr: '--write-config needs a configuration file; name it with --config.\n',
    })
  })
})
