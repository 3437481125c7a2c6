// Tests who a caller is told to be, and that the operations it is told are exactly those that it may use.
import { describe, expect, it } from 'vitest'
import { gatewayToken, startGateway } from '../helpers.ts'
import { share } from '../share.ts'

const clients = [
  { name: 'vera', role: 'viewer' },
  { name: 'otto', role: 'operator', agents: ['ops'], notAfter: '2999-01-01T00:00:00Z' },
  { name: 'anna', role: 'admin' },
].map((client) => Object.assign(client, { token: `token-of-${client.name}-0123456789-0123456789` }))

describe('GET /api/me', () => {
  const gateway = share(() =>
    startGateway({ gateway: { auth: { token: gatewayToken, clients } }, agents: { main: {}, ops: {} } }),
  )
  const me = async (token?: string) =>
    (await gateway().get('/api/me', token === undefined ? {} : { authorization: `Bearer ${token}` })).body

  it('names the caller, its role and its agents', async () => {
    const [vera, otto] = clients
    expect(await me()).toMatchObject({ name: 'gateway', role: 'admin', content: true })
    expect(await me()).not.toHaveProperty('agents')
    expect(await me(vera?.token)).toMatchObject({ name: 'vera', role: 'viewer', content: false })
    expect(await me(otto?.token)).toMatchObject({
      name: 'otto',
      role: 'operator',
      agents: ['ops'],
      content: true,
      expiresAt: '2999-01-01T00:00:00.000Z',
    })
    expect(await gateway().get('/api/me', { authorization: 'Bearer wrong' })).toMatchObject({ status: 401 })
  })

  it('lists the operations of the OpenAPI document that are not forbidden', async () => {
    const { paths } = (await gateway().get('/openapi.json')).body as { paths: Record<string, Record<string, Guarded>> }
    const guarded = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([, { tags }]) => ['control', 'tools', 'mcp'].includes(tags[0] ?? ''))
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    )
    expect((await me()).operations.toSorted()).toEqual(guarded.toSorted())
    for (const { token } of clients) {
      const { operations } = (await me(token)) as { operations: string[] }
      for (const operation of guarded) {
        const [method, path = ''] = operation.split(' ')
        const response = await fetch(gateway().url + path.replaceAll(/\{\w+\}/g, 'none'), {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          ...(method === 'POST' && { body: '{}' }),
        })
        const text = await response.text()
        const isRefused = response.status === 403 && text.includes('this ')
        expect([operation, !isRefused]).toEqual([operation, operations.includes(operation)])
      }
    }
  })
})

interface Guarded {
  tags: string[]
}
