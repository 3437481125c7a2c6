// Tests schedules over HTTP.
import { describe, expect, it } from 'vitest'
import { gatewayToken, startGateway } from '../helpers.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }

describe('GET /api/schedules', () => {
  it('lists the schedules of all agents, newest first, page by page', async () => {
    const { post, get } = await startGateway({ agents: { main: {}, ops: {} } })
    const add = async (agentId: string, name: string) => {
      const args = { action: 'add', message: `Do ${name}.`, name, every: '1h', channel: 'console', to: 'ops' }
      return (await post('/tools/invoke', { tool: 'cron', args, sessionKey: `agent:${agentId}:main` }, operator)).body
        .result.id as string
    }
    const ids = [await add('main', 'one'), await add('ops', 'two'), await add('main', 'three')].toReversed()
    const { status, body } = await get('/api/schedules')
    expect(status).toBe(200)
    expect(body.items.map(({ id }: { id: string }) => id)).toEqual(ids)
    expect(body.items[1]).toEqual({
      id: ids[1],
      agentId: 'ops',
      name: 'two',
      message: 'Do two.',
      timing: { every: '1h' },
      nextAt: expect.any(String),
      createdAt: expect.any(String),
    })
    const first = (await get('/api/schedules?limit=2')).body
    const second = (await get(`/api/schedules?limit=2&cursor=${first.next}`)).body
    expect([...first.items, ...second.items]).toEqual(body.items)
    expect((await get('/api/schedules?agentId=ops')).body.items.map(({ name }: { name: string }) => name)).toEqual([
      'two',
    ])
  })

  it('requires the gateway credential', async () => {
    const { get } = await startGateway()
    expect(await get('/api/schedules', { authorization: 'Bearer hook-token-of-the-tests-0123456789' })).toMatchObject({
      status: 401,
    })
  })
})
