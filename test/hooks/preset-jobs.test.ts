// The jobs of presets: what they accept takes the path of a webhook, and the gateway starts, restarts and ends them.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gatewayToken, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { share } from '../share.ts'
import { type Feed, feedPreset, startFeed } from './feed.ts'

async function start(settings: (feed: Feed) => object = ({ url }) => ({ url })) {
  const feed = await startFeed()
  const dir = temporaryFolder()
  writeFileSync(join(dir, 'feed.ts'), feedPreset)
  const hooks = { presets: ['feed'], feed: settings(feed) }
  return { feed, ...(await startGateway({ plugins: ['./feed.ts'], hooks }, dir)) }
}

type Running = Awaited<ReturnType<typeof start>>

const stateOf = async ({ get }: Pick<Running, 'get'>) => (await get('/api/extensions')).body.jobs[0]
const untilAsked = async (feed: Feed, path: string) => await expect.poll(() => feed.asked).toContain(path)
const requestsOf = async ({ get }: Pick<Running, 'get'>) => (await get('/api/requests')).body.items

describe('the job of a preset', () => {
  const shared = share(() => start())

  it('accepts a payload once per id, as a stored request of the preset', async () => {
    const running = await start()
    const { feed, get } = running
    for (const id of ['a', 'a', 'b']) feed.send({ id, payload: { text: `event ${id}` } })
    await expect.poll(() => feed.asked.filter((path) => path.startsWith('/done'))).toHaveLength(3)
    expect(feed.asked.filter((path) => path.startsWith('/done'))).toEqual([
      '/done/accepted',
      '/done/duplicate',
      '/done/accepted',
    ])
    const accepted = (await requestsOf(running)).filter(({ status }: { status: string }) => status === 'accepted')
    expect(accepted).toMatchObject([
      { hook: 'feed', client: 'gateway' },
      { hook: 'feed', client: 'gateway' },
    ])
    const { body } = await get(`/api/requests/${accepted[0].id}`)
    expect(JSON.stringify(body)).toContain('event b')
    expect(await stateOf(running)).toMatchObject({ preset: 'feed', state: 'connected' })
    expect(
      await fetch(`${running.url}/metrics`, { headers: { authorization: `Bearer ${gatewayToken}` } }).then((r) =>
        r.text(),
      ),
    ).toContain('svc_gateway_preset_job_state{preset="feed",state="connected"} 1')
  })

  it('learns whether a payload was skipped or refused; both are stored', async () => {
    const running = shared()
    const { feed } = running
    feed.send({ id: '1', payload: { text: 'spam' } })
    feed.send({ id: '2', payload: { text: {} } })
    await untilAsked(feed, '/done/refused')
    expect(feed.asked).toContain('/done/skipped')
    const newest = (await requestsOf(running)).slice(0, 2)
    expect(newest.map(({ status }: { status: string }) => status)).toEqual(['rejected', 'skipped'])
  })

  it('does not lose a payload that exceeds the rate limit: the job starts again before it', async () => {
    const running = await start(({ url }) => ({ url, rateLimit: { maxPerMinute: 1 } }))
    const { feed, logged } = running
    for (const id of ['a', 'b']) feed.send({ id, payload: { text: `event ${id}` } })
    await untilAsked(feed, '/hello/a')
    expect(feed.asked.filter((path) => path.startsWith('/done'))).toEqual(['/done/accepted'])
    expect((await requestsOf(running)).map(({ status }: { status: string }) => status)).toEqual(['accepted'])
    expect(logged.filter((line) => line.includes('was interrupted'))).toHaveLength(1)
  })

  it('starts again after a failure, with its state', async () => {
    const running = await start()
    const { feed, logged } = running
    feed.send({ id: 'a', payload: { text: 'hello' } })
    await untilAsked(feed, '/done/accepted')
    feed.send('not an event')
    await untilAsked(feed, '/hello/a')
    await expect.poll(async () => (await stateOf(running)).state).toBe('connected')
    expect(logged.filter((line) => line.includes('was interrupted'))).toHaveLength(1)
  })

  it('waits for a reload of the configuration if its credentials are refused', async () => {
    const running = await start()
    const { feed, gateway, logged } = running
    await untilAsked(feed, '/next')
    feed.send({}, 401)
    await expect
      .poll(() => stateOf(running))
      .toMatchObject({ state: 'unauthorized', reason: 'The feed refuses the token.' })
    await gateway.reload()
    await expect.poll(async () => (await stateOf(running)).state).toBe('connected')
    expect(logged.filter((line) => line.includes('refuses the credentials'))).toHaveLength(1)
  })

  it('is told about webhooks whose sender is authenticated', async () => {
    const { feed, post } = shared()
    await untilAsked(feed, '/next')
    await post('/hooks/feed', { text: 'x' }, { authorization: 'Bearer wrong' })
    expect(feed.asked).not.toContain('/nudged')
    expect((await post('/hooks/feed', { text: 'x' })).status).toBe(200)
    await untilAsked(feed, '/nudged')
  })

  it('runs only where the settings need it, and follows a reload', async () => {
    const running = await start(() => ({}))
    const { feed, dir, get, gateway } = running
    expect((await get('/api/extensions')).body.jobs).toEqual([])
    writeConfig(dir, { plugins: ['./feed.ts'], hooks: { presets: ['feed'], feed: { url: feed.url } } })
    await gateway.reload()
    await untilAsked(feed, '/next')
    expect(await stateOf(running)).toMatchObject({ state: 'connected' })
    writeConfig(dir, { plugins: ['./feed.ts'] })
    await gateway.reload()
    expect((await get('/api/extensions')).body.jobs).toEqual([])
  })
})
