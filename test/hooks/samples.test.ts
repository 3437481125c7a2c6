// Tests the samples of presets over HTTP: what they hold, and what sending one starts.
import { describe, expect, it } from 'vitest'
import { gatewayToken, hookToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }

describe('the samples of a preset', () => {
  const gateway = share(() =>
    startGateway({
      agents: { defaults: { heartbeat: { every: 0 } } },
      hooks: {
        enabled: true,
        token: hookToken,
        presets: ['github'],
        github: { auth: { secret: 'a secret of github' }, deliver: false },
      },
    }),
  )

  it('are listed with their payloads and headers, also while the preset is not enabled', async () => {
    const { body } = await gateway().get('/api/presets/github/samples')
    expect(body.items.length).toBeGreaterThan(1)
    expect(body.items[0]).toMatchObject({
      name: expect.any(String),
      payload: expect.any(Object),
      headers: { 'x-github-event': expect.any(String) },
    })
    expect((await gateway().get('/api/presets/grafana/samples')).body.items.length).toBeGreaterThan(0)
    expect((await gateway().get('/api/presets/nothing/samples')).status).toBe(404)
  })

  it('start what a webhook of the service would start, without its signature', async () => {
    const { get, post } = gateway()
    const [{ name }] = (await get('/api/presets/github/samples')).body.items
    const { body } = await post(`/api/presets/github/samples/${name}/send`, {}, operator)
    expect(body).toMatchObject({ ok: true, requestId: expect.any(String), runId: expect.any(String) })
    const request = (await get(`/api/requests/${body.requestId}`)).body
    expect(request).toMatchObject({ hook: 'github', status: 'accepted', authentication: { scheme: 'operator' } })
    expect(request).not.toHaveProperty('replayOf')
    expect(JSON.parse(request.body)).toBeInstanceOf(Object)
    const again = await post(`/api/presets/github/samples/${name}/send`, {}, operator)
    expect(again.body.runId).not.toBe(body.runId)
  })

  it('are refused where there is nothing to send or nobody to receive it', async () => {
    const { get, post } = gateway()
    expect((await post('/api/presets/github/samples/nothing/send', {}, operator)).status).toBe(404)
    const [{ name }] = (await get('/api/presets/grafana/samples')).body.items
    const reply = await post(`/api/presets/grafana/samples/${name}/send`, {}, operator)
    expect(reply).toMatchObject({ status: 409, body: { error: { message: expect.stringContaining('no hook') } } })
    expect((await post(`/api/presets/github/samples/${name}/send`, {})).status).toBe(401)
  })
})
