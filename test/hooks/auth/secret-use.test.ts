// When each secret of a mapping was last used, as an operator sees it during a rotation.
import { createHmac } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSecretUse } from '../../../core/hooks/auth/secret-use.ts'
import type { Json } from '../../../core/plugin/plugin.ts'
import { createTestContext } from '../../contracts/context.ts'
import { type RunningGateway, startGateway, temporaryFolder, writeConfig } from '../../helpers.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat', messageTemplate: 'x' }
const [oldSecret, newSecret] = ['the secret of last year', 'the secret of this year']
const sign = (key: string) => ({ authorization: '', 'x-sign': createHmac('sha256', key).update('{}').digest('hex') })
const withAuth = (auth: object) => ({
  agents,
  hooks: {
    mappings: [{ id: 'ci', match: { path: 'ci' }, auth: { scheme: 'hmac', header: 'x-sign', ...auth }, ...quiet }],
  },
})
const notAfter = '2999-01-01T00:00:00Z'
const both = withAuth({ secrets: [newSecret, { secret: oldSecret, notAfter }] })

async function secretsOf({ get }: RunningGateway) {
  const { items } = (await get('/api/hooks')).body
  return items.find(({ name }: { name: string }) => name === 'ci').mappings[0].secrets
}

describe('GET /api/hooks', () => {
  it('lists every name with its mappings, in order', async () => {
    const dir = temporaryFolder()
    mkdirSync(join(dir, 'transforms'))
    writeFileSync(join(dir, 'transforms', 'shape.js'), 'export default () => undefined')
    const { get } = await startGateway(
      {
        agents,
        hooks: {
          path: '/in',
          presets: ['github'],
          github: { auth: { secret: 's' } },
          mappings: [
            {
              id: 'one',
              match: { path: 'ci', source: 'build' },
              auth: { scheme: 'google-oidc', audience: 'a', email: 'e@example.com' },
              ...quiet,
            },
            { id: 'any', ...quiet, transform: { module: 'shape.js' } },
          ],
        },
      },
      dir,
    )
    await expect.poll(async () => (await get('/api/hooks')).body.items[2].mappings[1].transform.state).toBe('ready')
    const transform = { module: 'shape.js', export: 'default', state: 'ready', loadedAt: expect.any(String) }
    const any = { id: 'any', scheme: 'hook-token', transform }
    expect((await get('/api/hooks')).body).toEqual({
      items: [
        { name: 'wake', path: '/in/wake', mappings: [] },
        { name: 'agent', path: '/in/agent', mappings: [] },
        {
          name: 'ci',
          path: '/in/ci',
          mappings: [{ id: 'one', source: 'build', scheme: 'google-oidc', secrets: [] }, any],
        },
        {
          name: 'github',
          path: '/in/github',
          mappings: [any, { id: 'github', scheme: 'github', secrets: [{ index: 0 }] }],
        },
        { mappings: [any] },
      ],
    })
  })

  it('lists nothing while the hooks are off', async () => {
    const { get } = await startGateway({ hooks: { enabled: false } })
    expect((await get('/api/hooks')).body).toEqual({ items: [] })
  })

  it('shows when each secret was last used, over a rotation and a restart', async () => {
    const dir = temporaryFolder()
    const running = await startGateway(withAuth({ secret: oldSecret }), dir)
    expect(await secretsOf(running)).toEqual([{ index: 0 }])
    const before = Date.now()
    await running.post('/hooks/ci', '{}', sign(oldSecret))
    await running.post('/hooks/ci', '{}', sign('guessed'))
    const [{ lastUsedAt }] = await secretsOf(running)
    expect(Date.parse(lastUsedAt)).toBeGreaterThanOrEqual(before)

    writeConfig(dir, both)
    await running.gateway.reload()
    expect(await secretsOf(running)).toEqual([{ index: 0 }, { index: 1, notAfter, lastUsedAt }])
    await running.gateway.close()

    const again = await startGateway(both, dir)
    expect(await secretsOf(again)).toEqual([{ index: 0 }, { index: 1, notAfter, lastUsedAt }])
    await again.post('/hooks/ci', '{}', sign(newSecret))
    const [fresh, old] = await secretsOf(again)
    expect(Date.parse(fresh.lastUsedAt)).toBeGreaterThan(Date.parse(lastUsedAt))
    expect(old).toEqual({ index: 1, notAfter, lastUsedAt })
    await again.gateway.close()

    expect(await secretsOf(await startGateway(withAuth({ secret: newSecret }), dir))).toEqual([{ index: 0 }])
  })

  it('does not show the time of a secret for another one at its position', async () => {
    const dir = temporaryFolder()
    const running = await startGateway(withAuth({ secret: oldSecret }), dir)
    await running.post('/hooks/ci', '{}', sign(oldSecret))
    writeConfig(dir, withAuth({ secret: newSecret }))
    await running.gateway.reload()
    expect(await secretsOf(running)).toEqual([{ index: 0 }])
    await running.gateway.close()
    expect(await secretsOf(await startGateway(withAuth({ secret: newSecret }), dir))).toEqual([{ index: 0 }])
  })
})

describe('the time of the last use', () => {
  const auth = { scheme: 'hmac', secrets: [newSecret, { secret: oldSecret, notAfter }] } as const

  it('is stored once a minute for each secret, without the secret', async () => {
    const written: Json[] = []
    const store = {
      getState: async () => undefined,
      setState: async (...[, , value]: [string, string, Json]) => void written.push(value),
    }
    const used = createSecretUse({ store, log: createTestContext().log }).open('ci', {
      ...auth,
      secrets: [...auth.secrets],
    })
    for (let second = 0; second < 120; second++) used.note(0, 1_000_000 + second * 1000)
    used.note(1, 1_090_000)
    expect(await used.list()).toEqual([
      { index: 0, lastUsedAt: 1_119_000 },
      { index: 1, notAfter, lastUsedAt: 1_090_000 },
    ])
    expect(written).toHaveLength(3)
    expect(written.at(-1)).toEqual({ notAfter: [null, notAfter], lastUsedAt: [1_119_000, 1_090_000] })
    expect(JSON.stringify(written)).not.toContain('secret of')
  })

  it('is held in memory when the store fails, and the failure is logged', async () => {
    const { log, logged } = createTestContext()
    const store = {
      getState: () => Promise.reject(new Error('full')),
      setState: () => Promise.reject(new Error('full')),
    }
    const used = createSecretUse({ store, log }).open('ci', { ...auth, secrets: [...auth.secrets] })
    used.note(1, 1_000_000)
    expect((await used.list())[1]).toMatchObject({ lastUsedAt: 1_000_000 })
    await new Promise(setImmediate)
    expect(logged).toMatchObject([{ level: 'warn', message: 'the last use of a secret could not be saved' }])
  })
})
