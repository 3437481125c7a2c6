// Tests GET /api/extensions and GET /api/config.
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { gatewayToken, hookToken, startGateway, temporaryFolder } from '../helpers.ts'

describe('GET /api/extensions', () => {
  it('lists plugins, channels with their state, the names that a policy can use, and routes', async () => {
    const chat = await startChat()
    chat.refuse(1)
    const dir = temporaryFolder()
    const { plugins, channels } = chat.config(dir, { 'chat-native': {} })
    const { get } = await startGateway({ plugins: [...plugins, './missing.ts'], channels }, dir)
    const { status, body } = await get('/api/extensions')
    expect(status).toBe(200)
    expect(body.plugins.map(({ source }: { source: string }) => source)).toEqual(['svc-gateway', './chat.mjs'])
    expect(body.plugins[1].extensions).toContainEqual({ kind: 'channel', name: 'chat-none' })
    expect(body.problems).toEqual([expect.stringContaining('./missing.ts')])
    expect(body.channels).toContainEqual({ name: 'chat-none', description: 'A chat service.', accounts: [] })
    expect(body.policy.tools).toContainEqual({ name: 'session_status', toolset: 'sessions', group: 'sessions' })
    expect(body.policy.groups).toContain('group:sessions')
    expect(body.policy.toolsets).toContain('sessions')
    expect(body.routes).toContainEqual({ method: 'POST', path: '/hooks/agent', summary: 'Starts a run of an agent.' })
    const stateOf = async () =>
      (await get('/api/extensions')).body.channels.find(({ name }: { name: string }) => name === 'chat-native').accounts
    await expect
      .poll(stateOf)
      .toMatchObject([{ accountId: 'default', state: 'failing', reason: expect.stringMatching(/^the chat service/) }])
    await expect.poll(stateOf, { timeout: 10_000 }).toMatchObject([{ accountId: 'default', state: 'connected' }])
  })
})

describe('GET /api/config', () => {
  it('returns the configuration with its defaults and without its secrets', async () => {
    const { get } = await startGateway({
      providers: {
        mine: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'key-of-the-provider' },
      },
    })
    const { status, body } = await get('/api/config')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      gateway: { drainSeconds: 10, auth: { token: '[redacted]' } },
      hooks: { path: '/hooks', token: '[redacted]' },
      providers: { mine: { kind: 'openai-compatible', apiKey: '[redacted]' } },
    })
    for (const secret of [gatewayToken, hookToken, 'key-of-the-provider'])
      expect(JSON.stringify(body)).not.toContain(secret)
  })
})
