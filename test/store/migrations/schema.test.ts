// Migrations: newer tables are refused, older ones are backed up and migrated.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../open-store.ts'
import { type Migration, migrations } from '../../../core/store/migrations/schema.ts'
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

  it('of 0.1 keep their runs, which are still claimed', async () => {
    const old = await connect(path, { steps: migrations.slice(0, 1) })
    const insert = `
      INSERT INTO run (id, kind, agent_id, session_key, spec, message, status, attempt, max_attempts, fence, result,
        created_at)
      VALUES (?, 'hook', 'main', 'agent:main:one', '{"wakeMode":"now"}', 'kept', ?, 0, 2, 0, '{}', 1)`
    await old.tx.run(insert, 'waiting', 'queued')
    await old.tx.run(insert, 'over', 'failed')
    await old.close()
    const store = await open()
    expect(await store.getRun('over')).toMatchObject({ status: 'failed', spec: { message: 'kept' } })
    expect(await store.claimRuns({ owner: 'me', max: 9, at: 2, leaseMs: 1000 })).toMatchObject([
      { id: 'waiting', status: 'running' },
    ])
    await store.close()
  })

  it('stay unchanged when a migration fails', async () => {
    const old = await connect(path, { steps: [notes, dates] })
    await old.close()
    await expect(connect(path, { steps: [notes, dates, broken] })).rejects.toThrow('half already exists')
    const again = await connect(path, { steps: [notes, dates] })
    expect(await again.tx.all(`SELECT name FROM sqlite_schema WHERE name = 'half'`)).toEqual([])
    await again.close()
  })

  it('keep their waiting events', async () => {
    const old = await connect(path, { steps: migrations.slice(0, 1) })
    await old.tx.run(
      `INSERT INTO event (id, session_key, text, mode, source, trusted, at)
       VALUES ('e', 'agent:main:main', 'kept', 'now', 'webhook wake', 0, 1)`,
    )
    await old.close()
    const store = await open()
    expect(await store.listWaitingEvents('agent:main:main', { count: 9, characters: 99 })).toMatchObject([
      { id: 'e', text: 'kept' },
    ])
    expect([await store.listSessionsWithWakes(), await store.listWaitingWakes()]).toEqual([['agent:main:main'], []])
    await store.close()
  })

  it('are not backed up when no migration is needed', async () => {
    await (await open()).close()
    await (await open()).close()
    expect((await readdir(dir)).filter((name) => name.includes('before-version'))).toEqual([])
  })
})

describe('tables of 0.1', () => {
  it('keep their sessions, and those of webhooks count as having read private data', async () => {
    const old = await connect(path, { steps: migrations.slice(0, 1) })
    const addRun = `
      INSERT INTO run (id, kind, agent_id, session_key, spec, status, attempt, max_attempts, fence, result,
        created_at, message)
      VALUES (?, ?, 'main', ?, '{}', 'succeeded', 1, 2, 1, '{}', 1, 'Hi')`
    for (const [id, kind, session] of [
      ['1', 'hook', 'agent:main:hook:ci'],
      ['2', 'channel', 'agent:main:main'],
    ] as const) {
      await old.tx.run(addRun, id, kind, session)
      await old.tx.run(`INSERT INTO session (key, agent_id, updated_at, unnamed) VALUES (?, 'main', 1, 0)`, session)
    }
    await old.close()
    const store = await open()
    expect(await store.getExposure('agent:main:hook:ci')).toEqual({ fromStart: true, readsPrivate: true, sends: false })
    expect(await store.getExposure('agent:main:main')).toBeUndefined()
    expect(
      (await store.listSessions({ limit: 9, defaultAgentId: 'main' })).items.map(({ key }) => key).toSorted(),
    ).toEqual(['agent:main:hook:ci', 'agent:main:main'])
    await store.close()
  })
})

describe('tables without steps', () => {
  it('keep the runs in every state, and a run that waits to be retried continues from its messages', async () => {
    const old = await connect(path, { steps: migrations.slice(0, 8) })
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'add', input: { by: 1 } }
    const result = { type: 'tool-result', toolCallId: 'a', toolName: 'add', output: { type: 'json', value: 2 } }
    const progress = [
      { role: 'assistant', content: [{ type: 'text', text: 'Hm.' }, call] },
      { role: 'tool', content: [result] },
    ]
    const error = { type: 'model_failed', message: 'away' }
    const states = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'cancelled']
    for (const status of states)
      await old.tx.run(
        `INSERT INTO run (id, kind, agent_id, session_key, spec, message, status, attempt, max_attempts, fencing_token,
           result, created_at)
         VALUES (?, 'hook', 'main', ?, '{"origin":{}}', 'kept', ?, 1, 2, 1, ?, 1)`,
        status,
        `agent:main:${status}`,
        status,
        JSON.stringify(status === 'queued' ? { error, progress } : { error }),
      )
    await old.close()
    const store = await open()
    for (const status of states)
      expect(await store.getRun(status)).toMatchObject({ status, result: { error }, attempts: [], lastProgress: 0 })
    const queued = await store.getRun('queued')
    expect(queued).toMatchObject({ steps: 2, result: { error } })
    expect(queued?.result).not.toHaveProperty('progress')
    expect(await store.readSteps('queued')).toMatchObject([
      { number: 1, kind: 'model', message: progress[0] },
      { number: 2, kind: 'tool', detail: { tool: 'add' }, message: result },
    ])
    await store.close()
  })
})
