// The files of the store are moved, deleted or replaced while the gateway runs: nothing is acknowledged that a restart
// would not find.
import { copyFileSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { gatewayToken, spawnGateway, startGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { diagnose, listFindings } from '../../../core/cli/doctor/doctor.ts'

const run = { message: 'hi', deliver: false, wakeMode: 'next-heartbeat' }

describe('a store whose file', () => {
  const moves: [what: string, file: string, move: (path: string) => void][] = [
    ['is deleted', 'gateway.db', (path) => rmSync(path)],
    ['is moved', 'gateway.db', (path) => renameSync(path, `${path}.old`)],
    [
      'is replaced by a copy',
      'gateway.db',
      (path) => {
        copyFileSync(path, `${path}.copy`)
        renameSync(`${path}.copy`, path)
      },
    ],
    ['loses its lock', 'gateway.db.lock', (path) => rmSync(path)],
    [
      'has the lock of another gateway',
      'gateway.db.lock',
      (path) => {
        rmSync(path)
        writeFileSync(path, '')
      },
    ],
  ]

  it.each(moves)('%s accepts nothing, creates no other file, and says so once', async (_what, name, move) => {
    const { post, get, dir, logged } = await startGateway()
    const path = join(dir, 'state', name)
    expect((await post('/hooks/agent', run)).status).toBe(200)
    move(path)
    const wasThere = existsSync(path)
    for (let n = 0; n < 3; n++) expect((await post('/hooks/agent', run)).status).toBe(503)
    expect((await get('/readyz')).status).toBe(503)
    expect(existsSync(path)).toBe(wasThere)
    const reasons = logged
      .map((line) => JSON.parse(line))
      .filter(({ message }) => message === 'the store cannot be written')
    expect(reasons).toMatchObject([{ level: 'error', reason: expect.stringContaining(`The file ${path} was moved`) }])
  })

  it('is moved back continues with all that was accepted', async () => {
    const { post, get, dir } = await startGateway()
    const path = join(dir, 'state/gateway.db')
    const { runId } = (await post('/hooks/agent', run)).body
    renameSync(path, `${path}.old`)
    expect((await post('/hooks/agent', run)).status).toBe(503)
    renameSync(`${path}.old`, path)
    await expect.poll(async () => (await post('/hooks/agent', run)).status).toBe(200)
    await expect.poll(async () => (await get(`/runs/${runId}`)).body.status).toBe('succeeded')
  })

  it('loses its log has all that was acknowledged after a crash, and doctor names one that is away', async () => {
    const file = writeConfig(temporaryFolder())
    const first = await spawnGateway(file)
    onTestFinished(() => void first.process.kill('SIGKILL'))
    const headers = { authorization: `Bearer ${gatewayToken}` }
    const submit = (n: number) =>
      fetch(`${first.url}/hooks/wake`, {
        method: 'POST',
        headers: { authorization: 'Bearer hook-token-of-the-tests-0123456789' },
        body: JSON.stringify({ text: `event ${n}`, mode: 'next-heartbeat' }),
      })
    const acknowledged: number[] = []
    for (let n = 0; n < 20; n++) {
      if ((await submit(n)).status === 200) acknowledged.push(n)
      if (n === 10) for (const end of ['-wal', '-shm']) rmSync(join(file, `../state/gateway.db${end}`))
    }
    expect(acknowledged.length).toBeGreaterThan(15)
    const store = join(file, '../state/gateway.db')
    const findings = async () => listFindings(await diagnose({ config: file, offline: true })).map(({ id }) => id)
    renameSync(store, `${store}.old`)
    expect(await findings()).toContain('database_replaced')
    renameSync(`${store}.old`, store)
    expect(await findings()).not.toContain('database_replaced')
    await first.end('SIGKILL')
    const second = await spawnGateway(file)
    onTestFinished(() => void second.process.kill('SIGKILL'))
    const answer = await fetch(`${second.url}/api/requests?limit=100`, { headers })
    const { items } = (await answer.json()) as { items: { status: string }[] }
    expect(items.filter(({ status }) => status === 'accepted').length).toBeGreaterThanOrEqual(acknowledged.length)
  })
})
