// The presets behind a running gateway: every sample over HTTP, and requests that a service sends twice.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { shareGateway, startGateway, temporaryFolder } from '../helpers.ts'
import { payloads } from './payloads.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const names = Object.keys(payloads)

describe('POST /hooks/<preset>', () => {
  const { post } = shareGateway({
    agents,
    hooks: { presets: names, ...Object.fromEntries(names.map((name) => [name, quiet])) },
  })
  const send = async (
    name: string,
    { payload, headers = {} }: { payload: unknown; headers?: Record<string, string> },
  ) => await post(`/hooks/${name}`, payload, headers)

  // All samples go through the same code without HTTP in the tests of each preset.
  it.each(names)('%s starts runs, skips what is not reported, and rejects what is invalid', async (name) => {
    const { told, silent, wrong } = payloads[name]!
    for (const sample of told.slice(0, 3)) {
      const { status, body } = await send(name, sample)
      expect({ status, ...body }).toMatchObject({ status: 200, ok: true })
      expect(body.runId ?? body.runIds).toBeTruthy()
    }
    for (const sample of silent.slice(0, 2))
      expect(await send(name, sample)).toMatchObject({ status: 200, body: { ok: true, skipped: true } })
    for (const sample of wrong.slice(0, 2))
      expect(await send(name, sample)).toMatchObject({ status: 400, body: { ok: false } })
  })
})

describe('a message that mentions the app of Slack', () => {
  const secret = 'the signing secret of the app'
  const config = { agents, hooks: { presets: ['slack'], slack: { ...quiet, auth: { secret } } } }

  /** Slack sends both events, each with an id of its own. */
  const eventOf = (type: 'message' | 'app_mention', ts: string, more: object = {}) => ({
    token: 'z',
    team_id: 'T1',
    api_app_id: 'A1',
    type: 'event_callback',
    event_id: `Ev-${type}-${ts}-${JSON.stringify(more).length}`,
    authorizations: [{ team_id: 'T1', user_id: 'U9', is_bot: true }],
    event: { type, user: 'U1', text: '<@U9> what is broken?', ts, channel: 'C1', ...more },
  })

  function signed(payload: object): [body: string, headers: Record<string, string>] {
    const body = JSON.stringify(payload)
    const time = String(Math.floor(Date.now() / 1000))
    const signature = createHmac('sha256', secret).update(`v0:${time}:${body}`).digest('hex')
    return [body, { authorization: '', 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${signature}` }]
  }

  const { post, get } = shareGateway(config)
  const send = async (type: 'message' | 'app_mention', ts: string, more?: object) =>
    await post('/hooks/slack', ...signed(eventOf(type, ts, more)))
  const runsOf = async (ts: string) =>
    (await get('/api/runs?hook=slack')).body.items.filter(
      ({ sessionKey }: { sessionKey: string }) => sessionKey === `agent:main:hook:slack:c1:${ts}`,
    )

  it.each([
    ['message', 'app_mention', '1.1'],
    ['app_mention', 'message', '1.2'],
  ] as const)('starts one run when %s comes before %s', async (earlier, later, ts) => {
    const first = await send(earlier, ts)
    const second = await send(later, ts)
    expect(first).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(await runsOf(ts)).toHaveLength(1)
  })

  it('starts one run when both come at once', async () => {
    const [first, second] = await Promise.all([send('message', '1.3'), send('app_mention', '1.3')])
    expect(first).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
    expect(second.body).toEqual(first.body)
    expect(await runsOf('1.3')).toHaveLength(1)
  })

  it('starts no second run after a restart', async () => {
    const dir = temporaryFolder()
    const before = await startGateway(config, dir)
    const first = await before.post('/hooks/slack', ...signed(eventOf('message', '1.4')))
    await before.gateway.close()
    const after = await startGateway(config, dir)
    const second = await after.post('/hooks/slack', ...signed(eventOf('app_mention', '1.4')))
    expect(first).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
    expect(second.body).toEqual(first.body)
    expect((await after.get('/api/runs?hook=slack')).body.items).toHaveLength(1)
  })

  it('starts another run when the mention is added later by editing the message', async () => {
    const first = await send('message', '1.5', { text: 'what is broken?' })
    const second = await send('app_mention', '1.5', { edited: { ts: '1.6' } })
    expect(second.body).toMatchObject({ ok: true, runId: expect.any(String) })
    expect(second.body.runId).not.toBe(first.body.runId)
  })

  it('skips a mention by a bot', async () => {
    expect((await send('app_mention', '1.7', { bot_id: 'B1' })).body).toEqual({ ok: true, skipped: true })
    expect((await send('app_mention', '1.8')).body.runId).toEqual(expect.any(String))
  })
})
