// Calls over MCP that wait for an approval: a person is asked for as long as the caller waits, and no call is made for a
// caller that is gone.
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import { expect, inject, it, onTestFinished, vi } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { ask, gatewayToken, spawnGateway, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { createDatabase } from '../postgres.ts'
import { createLaunchPad, plugins } from './launch-pad.ts'

const headers = { authorization: `Bearer ${gatewayToken}` }
/** The client that calls over MCP. The credential that makes a call may not approve it. */
const editor = { name: 'editor', token: 'the-token-of-the-editor-0001', role: 'operator' }
const clientHeaders = { authorization: `Bearer ${editor.token}` }

async function prepare() {
  const [model, dir] = [await startModel(), temporaryFolder()]
  const pad = createLaunchPad(dir)
  return {
    dir,
    pad,
    document: {
      ...pad.document(),
      gateway: { auth: { token: gatewayToken, clients: [editor] } },
      providers: model.providers,
      plugins: [plugins],
    },
  }
}

async function emptyDatabase(): Promise<string> {
  const { url, remove } = await createDatabase(inject('postgresUrl'))
  onTestFinished(remove)
  return url
}

/** Calls `launch` over MCP. Resolves with the text of the answer; with `undefined` if the connection breaks. */
const callMcp = (url: string, signal?: AbortSignal, credential: object = clientHeaders): Promise<string | undefined> =>
  fetch(`${url}/mcp`, {
    method: 'POST',
    headers: { ...credential, accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'launch', arguments: { to: 'moon' } },
    }),
    ...(signal && { signal }),
  })
    .then((response) => response.text())
    .catch(() => undefined)

async function untilAsked(url: string): Promise<string> {
  const list = async () => (await ask(`${url}/api/approvals?status=waiting`, { headers })).body.items
  await expect.poll(list, { timeout: 20_000 }).toHaveLength(1)
  return (await list())[0].id
}

const answer = (url: string, id: string, verb = 'approve') =>
  ask(`${url}/api/approvals/${id}/${verb}`, { method: 'POST', headers, body: '{}' })

const gone = 'The client that asked does not wait any more, so the call is not made.'

it('a call whose gateway is killed is not made, and a later answer says so', async () => {
  const { dir, pad, document } = await prepare()
  const file = writeConfig(dir, document)
  const first = await spawnGateway(file)
  onTestFinished(async () => void (await first.end('SIGKILL')))
  const call = callMcp(first.url)
  const id = await untilAsked(first.url)
  await first.end('SIGKILL')
  expect(await call).toBeUndefined()
  const second = await spawnGateway(file)
  onTestFinished(async () => void (await second.end('SIGKILL')))
  for (const verb of ['approve', 'deny'])
    expect(await answer(second.url, id, verb)).toMatchObject({ status: 409, body: { error: { message: gone } } })
  const { body } = await ask(`${second.url}/api/approvals/${id}`, { headers })
  expect(body.status).toBe('cancelled')
  expect(pad.launches()).toEqual([])
})

it.each(['SQLite', 'PostgreSQL'])('a call whose client has gone is not made, on %s', async (engine) => {
  const { dir, pad, document } = await prepare()
  const storage = engine === 'SQLite' ? {} : { storage: { url: await emptyDatabase() } }
  const { url } = await startGateway({ ...document, ...storage }, dir)
  const client = new AbortController()
  const call = callMcp(url, client.signal)
  const id = await untilAsked(url)
  client.abort()
  await call
  await expect.poll(async () => (await ask(`${url}/api/approvals/${id}`, { headers })).body.status).toBe('cancelled')
  expect((await answer(url, id)).body.error.message).toBe(gone)
  expect(pad.launches()).toEqual([])
})

it('a client that waits says so again and again, and its call is made', async () => {
  const { dir, pad, document } = await prepare()
  const { url } = await startGateway(document, dir)
  const call = callMcp(url)
  const id = await untilAsked(url)
  const db = new DatabaseSync(join(dir, 'state', 'gateway.db'), { readOnly: true })
  onTestFinished(() => db.close())
  const awaitedUntil = () => Number(db.prepare('SELECT awaited_until AS at FROM approval').get()?.['at'])
  const start = Date.now()
  // Only the clock is set; timers run on.
  vi.useFakeTimers({ toFake: ['Date'], now: start })
  onTestFinished(() => void vi.useRealTimers())
  for (let seconds = 4; seconds <= 20; seconds += 4) {
    vi.setSystemTime(start + seconds * 1000)
    await expect.poll(awaitedUntil, { timeout: 20_000 }).toBeGreaterThanOrEqual(start + (seconds + 9) * 1000)
  }
  expect((await answer(url, id)).body.status).toBe('approved')
  expect(await call).toContain('launched')
  expect(pad.launches()).toEqual([{ to: 'moon' }])
})

it('returns 403 when the credential that made a call over MCP approves it', async () => {
  const { dir, pad, document } = await prepare()
  const { url } = await startGateway(document, dir)
  for (const credential of [headers, clientHeaders]) {
    const call = callMcp(url, undefined, credential)
    const id = await untilAsked(url)
    const approve = () => ask(`${url}/api/approvals/${id}/approve`, { method: 'POST', headers: credential, body: '{}' })
    const { status, body } = await approve()
    expect([status, body.error]).toMatchObject([
      403,
      { type: 'forbidden', message: expect.stringContaining('over MCP') },
    ])
    expect((await answer(url, id, 'deny')).body.status).toBe('denied')
    await call
  }
  expect(pad.launches()).toEqual([])
})
