// Damaged pages: records on other pages are read and written, and the log names the file.
import { closeSync, openSync, writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../open-store.ts'
import type { Store } from '../../../core/store/store.ts'
import { startGateway } from '../../helpers.ts'
import { cancelledEnd, newRequest, newRun, runEnd, start, startRun } from '../../contracts/store-samples.ts'
import { silent, url } from '../acknowledging.ts'

const pageSize = 8192

let dir: string
let path: string
let store: Store | undefined
let logged: object[]
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'store-damage-'))
  path = join(dir, 'state/gateway.db')
  logged = []
})
afterEach(async () => {
  await store?.close()
  store = undefined
  await rm(dir, { recursive: true })
})

async function open(): Promise<Store> {
  store = await openStore({
    url,
    dir,
    log: { ...silent, error: (fields, message) => void logged.push({ ...fields, message }) },
  })
  return store
}

async function damage(table: string, fill: (store: Store) => Promise<void>): Promise<void> {
  const filled = await open()
  await fill(filled)
  await filled.close()
  damageLastLeaf(table)
}

function damageLastLeaf(table: string): void {
  const db = new DatabaseSync(path, { readOnly: true })
  const { page } = db
    .prepare(`SELECT max(pageno) AS page FROM dbstat WHERE name = ? AND pagetype = 'leaf'`)
    .get(table) as { page: number }
  db.close()
  overwrite((page - 1) * pageSize)
}

function overwrite(offset: number): void {
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(pageSize, 0xff), 0, pageSize, offset)
  closeSync(file)
}

/** Each conversation is longer than a page. */
async function talk(filled: Store): Promise<void> {
  for (const sessionKey of ['agent:main:first', 'agent:main:last']) {
    const message = 'x'.repeat(1000)
    const transcript = Array.from({ length: 20 }, () => ({ message }))
    await filled.endRun(await startRun(filled, { id: sessionKey, sessionKey }), runEnd({ transcript }))
  }
}

const damaged = { code: 'store_damaged', message: expect.stringContaining('gateway.db is damaged') }

describe('a damaged page', () => {
  it('fails only the reads that need it, and is logged once, with the file and advice', async () => {
    await damage('transcript', talk)
    const { listTranscript, getRun, listRuns, accept } = await open()
    const outcomes = await Promise.allSettled([
      listTranscript('agent:main:last', { limit: 50 }),
      listTranscript('agent:main:first', { limit: 15 }),
      getRun('agent:main:last'),
      listRuns({}, { limit: 9 }),
      accept({ at: start, request: newRequest() }),
    ])
    expect(outcomes[0]).toMatchObject({ status: 'rejected', reason: damaged })
    expect(outcomes.map(({ status }) => status).slice(1)).toEqual(Array.from({ length: 4 }, () => 'fulfilled'))
    for (let n = 0; n < 2; n++)
      await expect(listTranscript('agent:main:last', { limit: 50 })).rejects.toMatchObject(damaged)
    expect(logged).toEqual([
      { reason: expect.stringMatching(/gateway\.db is damaged .*restore a backup/), message: 'the store is damaged' },
    ])
    expect(JSON.stringify(logged)).toContain(path)
  })

  it('fails only the writes that need it, not the others of their commit', async () => {
    await damage('run', async (filled) => {
      for (let n = 0; n < 9; n++)
        await filled.accept({
          at: start,
          runs: [newRun({ id: `run-${n}`, spec: { ...newRun().spec, message: 'x'.repeat(3000) } })],
        })
    })
    const { endQueuedRun, accept, probe, getRun } = await open()
    const outcomes = await Promise.allSettled([
      endQueuedRun('run-8', cancelledEnd()),
      endQueuedRun('run-0', cancelledEnd()),
      accept({ at: start, request: newRequest() }),
      probe(),
    ])
    expect(outcomes).toMatchObject([
      { reason: damaged },
      { value: true },
      { value: { outcome: 'accepted' } },
      { status: 'fulfilled' },
    ])
    expect(await getRun('run-0')).toMatchObject({ status: 'cancelled' })
  })
})

describe('a gateway with a damaged page', () => {
  it('answers 503 store_damaged where the page is needed, and works everywhere else', async () => {
    const quiet = { agents: { defaults: { heartbeat: { every: 0 } } }, hooks: { allowRequestSessionKey: true } }
    const work = { message: 'x'.repeat(5000), deliver: false, wakeMode: 'next-heartbeat' }
    const first = await startGateway(quiet, dir)
    for (const sessionKey of ['first', 'last'])
      await first.post('/hooks/agent', { ...work, sessionKey }, { prefer: 'wait=30' })
    await first.gateway.close()
    damageLastLeaf('transcript')
    const { get, post, logged: lines } = await startGateway(quiet, dir)
    expect(await get('/api/sessions/agent:main:last')).toMatchObject({
      status: 503,
      body: { error: { type: 'store_damaged' } },
    })
    const others = ['runs', 'requests', 'outbox', 'sessions', 'sessions/agent:main:nobody'].map((path) =>
      get(`/api/${path}`),
    )
    expect((await Promise.all([...others, get('/readyz')])).map(({ status }) => status)).toEqual([
      200, 200, 200, 200, 404, 200,
    ])
    expect(await post('/hooks/agent', { ...work, sessionKey: 'new' })).toMatchObject({ status: 200 })
    expect(lines.filter((line) => line.includes('the store is damaged'))).toEqual([expect.stringContaining(path)])
  })
})

describe('a file that cannot be opened', () => {
  it('is named at startup, with advice', async () => {
    await (await open()).close()
    store = undefined
    overwrite(0)
    const refused = open()
    await expect(refused).rejects.toThrow(`The store ${path} is damaged or is not an SQLite file (`)
    await expect(refused).rejects.toThrow('restore a backup')
  })
})
