// Webhooks whose sender is not authenticated: a bounded record tells an operator why each was refused.
import { expect, it } from 'vitest'
import { type Document, gatewayToken, hookToken, startGateway, startGatewayOn } from '../helpers.ts'

const wrong = { authorization: 'Bearer a-wrong-token' }
const limited = { name: 'ops', role: 'viewer', agents: ['main'], token: 'token-of-ops-0123456789-0123456789' }
const config = {
  gateway: { auth: { token: gatewayToken, clients: [limited] } },
  hooks: {
    mappings: [
      {
        match: { path: 'signed' },
        action: 'wake',
        wakeMode: 'next-heartbeat',
        textTemplate: '{{ text }}',
        auth: { scheme: 'hmac', header: 'x-sign', secrets: ['the secret of the sender'] },
      },
    ],
  },
}

interface Recorded extends Document {
  id: string
  error: { message: string }
}

it('are recorded with the reason, without what the sender wrote, a few in a minute', async () => {
  const { gateway, dir, post, get } = await startGateway(config)
  const newest = async (hook: string): Promise<Recorded> => {
    const path = `/api/requests?limit=1&hook=${encodeURIComponent(hook)}`
    await expect.poll(async () => (await get(path)).body.items).toHaveLength(1)
    return (await get(path)).body.items[0]
  }
  const body = { text: 'What a stranger wrote.' }

  expect((await post('/hooks/agent', { message: 'Hi' }, wrong)).status).toBe(401)
  const { id, ...agent } = await newest('agent')
  expect(agent).toMatchObject({
    status: 'rejected',
    client: '127.0.0.1',
    authentication: { scheme: 'none' },
    error: { type: 'unauthorized', message: expect.stringMatching(/Reason: the token is not the hook token\.$/) },
  })
  expect((await get(`/api/requests/${id}`)).body).toMatchObject({ headers: {}, query: {}, body: null, runs: [] })

  expect((await post('/hooks/wake', body, { authorization: '' })).status).toBe(401)
  expect((await newest('wake')).error.message).toMatch(/Reason: the request has no token\.$/)
  expect((await post('/hooks/sined/', body, wrong)).status).toBe(401)
  expect(await newest('sined')).toMatchObject({ error: { type: 'unauthorized' } })
  expect((await post(`/hooks/${hookToken}`, body, wrong)).status).toBe(401)
  expect(await newest('[redacted]')).toMatchObject({ status: 'rejected' })

  expect((await post('/hooks/signed', body, { authorization: '' })).status).toBe(401)
  expect((await newest('signed')).error.message).toMatch(/Reason: the signature header is missing\.$/)
  for (let n = 0; n < 11; n++) await post('/hooks/signed', body, { authorization: '', 'x-sign': 'a'.repeat(64) })
  await expect.poll(async () => (await get('/api/requests?hook=signed')).body.items).toHaveLength(5)
  expect((await newest('signed')).error.message).toMatch(/Reason: the signature is wrong\.$/)
  const asLimited = { authorization: `Bearer ${limited.token}` }
  expect((await get('/api/requests', asLimited)).body.items).toEqual([])
  const replay = await post(`/api/requests/${id}/replay`, {}, { authorization: `Bearer ${gatewayToken}` })
  expect(replay.status).toBe(409)

  // What was only counted is recorded at the end of the minute, or when the gateway stops.
  await gateway.close()
  const again = await startGatewayOn(`${dir}/gateway.json5`)
  const { items } = (await again.get('/api/requests?hook=signed')).body
  expect(items.map(({ count }: Document) => count)).toEqual([7, ...Array(5).fill(undefined)])
  const stored = JSON.stringify((await again.get('/api/requests')).body)
  for (const text of ['stranger wrote', 'a-wrong-token', hookToken, 'the secret of']) expect(stored).not.toContain(text)
})
