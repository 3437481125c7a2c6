// POST /mcp with real and invalid clients, and tools of MCP servers that agents and HTTP clients use.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { messagesOf, startModel } from '../doubles/model.ts'
import { ask, gatewayToken, hookToken, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const credential = { authorization: `Bearer ${gatewayToken}` }
const accept = { accept: 'application/json, text/event-stream' }

async function connect({ url }: Pick<RunningGateway, 'url'>, headers: Record<string, string> = {}, pin?: string) {
  const client = new Client(
    { name: 'test', version: '1' },
    pin === undefined ? {} : { versionNegotiation: { mode: { pin } } },
  )
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
      requestInit: { headers: { ...credential, ...headers } },
    }),
  )
  onTestFinished(() => client.close())
  return {
    client,
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args }),
  }
}

const shared = share(() => startGateway({ agents: { main: {}, guest: { tools: { allow: ['session_status'] } } } }))
const limited = share(() =>
  startGateway({
    tools: { deny: ['sessions_list'] },
    gateway: { tools: { deny: ['agents_list'] }, allowedOrigins: ['https://app.example.com'] },
  }),
)

describe('POST /mcp with an MCP client', () => {
  it.each([
    ['of 2025', undefined],
    ['of 2026, without a handshake', '2026-07-28'],
  ])('%s: lists the tools with their schemas, and calls them', async (_what, pin) => {
    const { client, call } = await connect(shared(), {}, pin)
    const { tools } = await client.listTools()
    expect(tools.find(({ name }) => name === 'sessions_list')).toMatchObject({
      description: 'Lists sessions, the most recently used first.',
      inputSchema: { type: 'object', properties: { limit: { type: 'integer', maximum: 200 } } },
    })
    const result = await call('sessions_list')
    expect(result).toMatchObject({ structuredContent: { items: [] } })
    expect(result.content).toEqual([{ type: 'text', text: '{"items":[]}' }])
  })

  it('names the version of the package', async () => {
    const { client } = await connect(shared())
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
      version: string
    }
    expect(client.getServerVersion()).toEqual({ name: 'svc-gateway', version })
  })

  it('returns the problem with invalid arguments as a tool error', async () => {
    const { call } = await connect(shared())
    expect(await call('sessions_list', { limit: 'many' })).toMatchObject({
      isError: true,
      content: [{ text: 'args.limit must be a whole number.' }],
    })
  })

  it('hides tools that the policy denies, or gateway.tools over HTTP, in lists and in calls', async () => {
    const { names, call } = await connect(limited())
    const listed = await names()
    expect(listed).toContain('session_status')
    for (const name of ['sessions_list', 'agents_list']) expect(listed).not.toContain(name)
    const refusals = await Promise.all(
      ['sessions_list', 'agents_list', 'no_such_tool'].map((name) =>
        call(name).catch((error: unknown) => String(error)),
      ),
    )
    expect(refusals).toEqual([expect.stringContaining('The tool is not available.'), refusals[0], refusals[0]])
  })

  it('offers the tools of the session in the header', async () => {
    const guest = await connect(shared(), { 'x-svc-session-key': 'agent:guest:main' })
    expect(await guest.names()).toEqual(['session_status'])
    expect(await guest.call('session_status')).toMatchObject({ structuredContent: { key: 'agent:guest:main' } })
    await expect(guest.call('sessions_list')).rejects.toThrow('The tool is not available.')
    const main = await connect(shared())
    expect(await main.names()).toContain('sessions_list')
    expect(await main.call('session_status')).toMatchObject({ structuredContent: { key: 'agent:main:main' } })
  })
})

describe('POST /mcp', () => {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
  const post = (headers: Record<string, string> = {}, body: unknown = message) =>
    shared().post('/mcp', body, { ...credential, ...accept, ...headers })

  it('accepts the credential of the gateway, not the token of the hooks', async () => {
    expect(await post({ authorization: `Bearer ${hookToken}` })).toMatchObject({
      status: 401,
      body: { error: { type: 'unauthorized' } },
    })
  })

  it('returns 405 for other methods, because it is stateless', async () => {
    const { url } = shared()
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await ask(`${url}/mcp`, { method, headers: credential })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    }
  })

  it('serves pages of its own origin and of allowed origins', async () => {
    const { url, post: send } = limited()
    for (const origin of [url, 'https://app.example.com'])
      expect(
        (
          await fetch(`${url}/mcp`, {
            method: 'POST',
            headers: { ...credential, ...accept, origin },
            body: JSON.stringify(message),
          })
        ).status,
      ).toBe(200)
    expect(
      await send('/mcp', message, { ...credential, ...accept, origin: 'https://app.example.com.evil.com' }),
    ).toMatchObject({ status: 403 })
  })

  it.each(['https://evil.example.com', 'null', 'http://127.0.0.1:1'])(
    'refuses pages of the origin %s',
    async (origin) => {
      expect(await post({ origin })).toMatchObject({
        status: 403,
        body: { ok: false, error: { type: 'origin_not_allowed' } },
      })
    },
  )

  it('returns 400 for an invalid message, in the format of the layer that refuses it', async () => {
    expect(await post({}, '[]')).toMatchObject({ status: 400, body: { ok: false, error: { type: 'invalid_request' } } })
    expect(await post({}, { hello: 'there' })).toMatchObject({
      status: 400,
      body: { jsonrpc: '2.0', error: { code: expect.any(Number) } },
    })
    expect(await post({ 'x-svc-session-key': 'agent:' })).toMatchObject({
      status: 400,
      body: { ok: false, error: { type: 'invalid_request' } },
    })
  })

  it('returns 413 for more than 2 MiB', async () => {
    expect(await post({}, { ...message, params: { text: 'x'.repeat(2 * 1024 * 1024) } })).toMatchObject({ status: 413 })
  })
})

describe('a tool of an MCP server', () => {
  const secret = 'canary-of-the-server-0123456789'
  const fix = {
    command: process.execPath,
    args: [fileURLToPath(new URL('../fixtures/mcp/server.mjs', import.meta.url))],
  }
  const bad = { command: 'sh', args: ['-c', 'echo "$KEY" >&2'], env: { KEY: secret } }

  /** Resolves when the server's tools are there. */
  const toolsConnected = ({ logged }: RunningGateway) =>
    vi.waitUntil(() => logged.some((line) => line.includes('an MCP server is connected')), 30_000)

  const shared = share(async () => {
    const model = await startModel()
    const gateway = await startGateway({
      tools: { mcp: { servers: { fix, bad } }, deny: ['fix__die', 'fix__h*'], effects: { 'fix__add_*': [] } },
      providers: model.providers,
      agents: { main: { model: 'double/m' } },
    })
    await toolsConnected(gateway)
    const say = (message: string) =>
      gateway.post('/hooks/agent', { message, deliver: false, wakeMode: 'next-heartbeat' }, { prefer: 'wait=20' })
    return { gateway, model, say }
  })

  it('is called through /tools/invoke and /mcp, under the policy', async () => {
    const { gateway } = shared()
    expect(gateway.logged.filter((line) => line.includes('no loaded tool'))).toEqual([])
    expect(
      await gateway.post('/tools/invoke', { tool: 'fix__add_numbers', args: { a: 2, b: 3 } }, credential),
    ).toMatchObject({
      status: 200,
      body: { ok: true, result: { sum: 5 } },
    })
    expect(await gateway.post('/tools/invoke', { tool: 'fix__hang' }, credential)).toMatchObject({ status: 404 })
    const { names, call } = await connect(gateway)
    const all = await names()
    expect(all).toEqual(expect.arrayContaining(['fix__echo', 'fix__add_numbers']))
    expect(all).not.toContain('fix__die')
    expect(await call('fix__add_numbers', { a: 1, b: 1 })).toMatchObject({ structuredContent: { sum: 2 } })
  })

  it('is called by an agent in its turn', async () => {
    const { model, say } = shared()
    const { length } = model.requests
    model.script({ tool: 'fix__add_numbers', args: { a: 20, b: 22 } }, { text: 'It is 42.' })
    expect((await say('Add 20 and 22.')).body).toMatchObject({ status: 'succeeded', reply: 'It is 42.' })
    expect(messagesOf(await model.request(length + 1)).at(-1)!.content).toContain('42')
  })

  it('counts as reading private things and sending, so webhook runs may not use it', async () => {
    const { model, say } = shared()
    const { length } = model.requests
    model.script({ tool: 'fix__where', args: {} }, { text: 'I may not.' })
    await say('Where are you?')
    expect(messagesOf(await model.request(length + 1)).at(-1)!.content).toContain('fix__where is withheld')
  })

  it('is aborted when the client of /mcp disconnects', async () => {
    const marker = join(temporaryFolder(), 'marker')
    const env = { CANCELLED: marker, STARTED: `${marker}.started` }
    const gateway = await startGateway({ tools: { mcp: { servers: { fix: { ...fix, env } } } } })
    await toolsConnected(gateway)
    const gone = new AbortController()
    const asked = fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { ...credential, ...accept },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'fix__hang', arguments: {} },
      }),
      signal: gone.signal,
    }).then((response) => response.text())
    await expect.poll(() => existsSync(`${marker}.started`)).toBe(true)
    gone.abort()
    await expect(asked).rejects.toThrow()
    await expect.poll(() => existsSync(marker)).toBe(true)
  })

  it('logs no secret of its server', async () => {
    const { logged } = shared().gateway
    await expect.poll(() => logged.some((line) => line.includes('an MCP server is not connected'))).toBe(true)
    expect(logged.filter((line) => !line.includes('"debug"')).join('\n')).not.toContain(secret)
  })
})
