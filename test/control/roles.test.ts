// Tests every route, WebSocket method, topic and MCP call with every role, for own and for foreign agents.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createMethods } from '../../core/control/ws/methods.ts'
import { gatewayToken, hookToken, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'
import { connectRpc, type RpcClient } from './rpc-client.ts'

type Role = 'viewer' | 'operator' | 'admin'

const ranks: readonly Role[] = ['viewer', 'operator', 'admin']

/** Clients with each role, for all agents, and limited to the agent ops; and a viewer that may read contents. */
const clients = [
  ...ranks.flatMap((role) => [
    { name: role, role },
    { name: `${role}-ops`, role, agents: ['ops'] },
  ]),
  { name: 'reader', role: 'viewer' as const, content: true },
].map((client): Client => Object.assign(client, { token: `token-of-${client.name}-0123456789-0123456789` }))

interface Client {
  name: string
  role: Role
  agents?: string[]
  content?: boolean
  token: string
}

/** What it needs, and how it is called for a record of the agent. */
interface Row {
  needs: Role
  scope: 'agents' | 'gateway' | 'public'
  path?: (record: Records) => string
  body?: (record: Records) => unknown
  /** The status for a foreign agent. Absent: the route names no record. */
  foreign?: 403 | 404
}

/** The records of one agent. */
interface Records {
  agentId: string
  runId: string
  requestId: string
  sessionKey: string
}

const sessionKey = ({ agentId }: Records): string => `agent:${agentId}:main`

const rows: Readonly<Record<string, Row>> = {
  'GET /tools': {
    needs: 'viewer',
    scope: 'agents',
    path: (own) => `/tools?sessionKey=${sessionKey(own)}`,
    foreign: 403,
  },
  'POST /tools/explain': {
    needs: 'viewer',
    scope: 'agents',
    body: (own) => ({ tool: 'agents_list', sessionKey: sessionKey(own) }),
    foreign: 403,
  },
  'POST /tools/invoke': {
    needs: 'operator',
    scope: 'agents',
    body: (own) => ({ tool: 'agents_list', sessionKey: sessionKey(own) }),
    foreign: 403,
  },
  'POST /mcp': { needs: 'viewer', scope: 'agents', body: () => ({ jsonrpc: '2.0', id: 1, method: 'tools/list' }) },
  'GET /runs/{id}': { needs: 'viewer', scope: 'agents', path: ({ runId }) => `/runs/${runId}`, foreign: 404 },
  'GET /runs/{id}/steps': {
    needs: 'viewer',
    scope: 'agents',
    path: ({ runId }) => `/runs/${runId}/steps`,
    foreign: 404,
  },
  'GET /api/runs': { needs: 'viewer', scope: 'agents' },
  'POST /api/runs/{id}/cancel': {
    needs: 'operator',
    scope: 'agents',
    path: ({ runId }) => `/api/runs/${runId}/cancel`,
    foreign: 404,
  },
  'POST /api/runs/{id}/retry': {
    needs: 'operator',
    scope: 'agents',
    path: ({ runId }) => `/api/runs/${runId}/retry`,
    foreign: 404,
  },
  'GET /api/requests': { needs: 'viewer', scope: 'agents' },
  'GET /api/requests/{id}': {
    needs: 'viewer',
    scope: 'agents',
    path: ({ requestId }) => `/api/requests/${requestId}`,
    foreign: 404,
  },
  'POST /api/requests/{id}/replay': {
    needs: 'operator',
    scope: 'agents',
    path: ({ requestId }) => `/api/requests/${requestId}/replay`,
    foreign: 404,
  },
  'GET /api/me': { needs: 'viewer', scope: 'public' },
  'GET /api/hooks': { needs: 'viewer', scope: 'gateway' },
  'POST /api/hooks/{name}/send': {
    needs: 'operator',
    scope: 'gateway',
    path: () => '/api/hooks/nowhere/send',
    body: () => ({ body: {} }),
  },
  'POST /api/hooks/preview': {
    needs: 'operator',
    scope: 'gateway',
    body: () => ({ mapping: '{ match: { path: "deploys" }, messageTemplate: "A deploy." }', body: '{}' }),
  },
  'POST /api/hooks/import-curl': { needs: 'operator', scope: 'gateway', body: () => ({ command: "curl -d '{}' x" }) },
  'GET /api/transforms': { needs: 'viewer', scope: 'gateway' },
  'GET /api/presets/{name}/samples': { needs: 'viewer', scope: 'gateway', path: () => '/api/presets/github/samples' },
  'POST /api/presets/{name}/samples/{sample}/send': {
    needs: 'operator',
    scope: 'gateway',
    path: () => '/api/presets/github/samples/NONE/send',
  },
  'GET /api/schedules': { needs: 'viewer', scope: 'agents' },
  'GET /api/sessions': { needs: 'viewer', scope: 'agents' },
  'GET /api/sessions/{key}': {
    needs: 'viewer',
    scope: 'agents',
    path: (own) => `/api/sessions/${encodeURIComponent(own.sessionKey)}`,
    foreign: 404,
  },
  'DELETE /api/sessions/{key}': {
    needs: 'admin',
    scope: 'agents',
    // Deleting the sessions of the records would take them from the other rows.
    path: ({ agentId }) => `/api/sessions/agent:${agentId}:none`,
  },
  'GET /api/approvals': { needs: 'viewer', scope: 'agents' },
  'GET /api/approvals/{id}': { needs: 'viewer', scope: 'agents', path: () => '/api/approvals/NONE' },
  'POST /api/approvals/{id}/approve': {
    needs: 'operator',
    scope: 'agents',
    path: () => '/api/approvals/NONE/approve',
  },
  'POST /api/approvals/{id}/deny': {
    needs: 'operator',
    scope: 'agents',
    path: () => '/api/approvals/NONE/deny',
  },
  'GET /api/outbox': { needs: 'viewer', scope: 'agents' },
  'GET /api/outbox/{id}': {
    needs: 'viewer',
    scope: 'agents',
    path: ({ runId }) => `/api/outbox/${runId}:0`,
    foreign: 404,
  },
  'POST /api/outbox/{id}/retry': {
    needs: 'operator',
    scope: 'agents',
    path: ({ runId }) => `/api/outbox/${runId}:0/retry`,
    foreign: 404,
  },
  'GET /api/pairings': { needs: 'viewer', scope: 'gateway' },
  'POST /api/pairings/{code}/approve': {
    needs: 'operator',
    scope: 'gateway',
    path: () => '/api/pairings/NONE/approve',
  },
  'POST /api/pairings/revoke': {
    needs: 'operator',
    scope: 'gateway',
    body: () => ({ channel: 'console', sender: 'nobody' }),
  },
  'GET /api/extensions': { needs: 'viewer', scope: 'gateway' },
  'GET /api/channels': { needs: 'viewer', scope: 'gateway' },
  'POST /api/channels/{name}/login': { needs: 'admin', scope: 'gateway', path: () => '/api/channels/console/login' },
  'GET /api/channels/{name}/login': { needs: 'admin', scope: 'gateway', path: () => '/api/channels/console/login' },
  'POST /api/channels/{name}/login/answer': {
    needs: 'admin',
    scope: 'gateway',
    path: () => '/api/channels/console/login/answer',
    body: () => ({ questionId: 'none', answer: 'none' }),
  },
  'POST /api/channels/{name}/check': {
    needs: 'admin',
    scope: 'gateway',
    path: () => '/api/channels/console/check',
    body: () => ({ to: 'none' }),
  },
  'POST /api/channels/{name}/login/cancel': {
    needs: 'admin',
    scope: 'gateway',
    path: () => '/api/channels/console/login/cancel',
  },
  'POST /api/channels/{name}/logout': { needs: 'admin', scope: 'gateway', path: () => '/api/channels/console/logout' },
  'GET /api/config': { needs: 'viewer', scope: 'gateway' },
  'GET /api/config/warnings': { needs: 'viewer', scope: 'gateway' },
  'GET /api/config/schema': { needs: 'viewer', scope: 'gateway' },
  'GET /api/config/file': { needs: 'admin', scope: 'gateway' },
  'POST /api/config/file': { needs: 'admin', scope: 'gateway' },
  'POST /api/config/check': { needs: 'admin', scope: 'gateway', body: () => ({ text: '{}' }) },
  'POST /api/config/edit': {
    needs: 'admin',
    scope: 'gateway',
    body: () => ({ text: '{}', edits: [{ path: ['log'], value: {} }] }),
  },
  'GET /api/audit': { needs: 'viewer', scope: 'agents' },
  'GET /api/budgets': { needs: 'viewer', scope: 'agents' },
  'GET /api/gateways': { needs: 'viewer', scope: 'gateway' },
  'GET /api/clients': { needs: 'viewer', scope: 'gateway' },
  'GET /api/usage': { needs: 'viewer', scope: 'agents' },
  'GET /api/panels': { needs: 'viewer', scope: 'public' },
  'POST /api/page/link': { needs: 'admin', scope: 'gateway' },
  'GET /openapi.json': { needs: 'viewer', scope: 'public' },
  'GET /metrics': { needs: 'viewer', scope: 'gateway' },
}

/** What passes although its record does not exist. */
const notFound: ReadonlySet<string> = new Set([
  'session_not_found',
  'approval_not_found',
  'not_found',
  'pairing_not_found',
])

const call = (tool: string, of: Records): object => ({
  method: 'tools/call',
  params: { name: tool, arguments: {} },
  headers: { 'x-svc-session-key': sessionKey(of) },
})

const methods: Readonly<Record<string, Row>> = {
  subscribe: { needs: 'viewer', scope: 'agents', body: () => ({ topics: [] }) },
  unsubscribe: { needs: 'viewer', scope: 'agents', body: () => ({ topics: [] }) },
  'chat.send': {
    needs: 'operator',
    scope: 'agents',
    body: (own) => ({ text: 'Hi', sessionKey: sessionKey(own) }),
    foreign: 403,
  },
  'tools.invoke': {
    needs: 'operator',
    scope: 'agents',
    body: (own) => ({ tool: 'agents_list', sessionKey: sessionKey(own) }),
    foreign: 403,
  },
  'runs.get': { needs: 'viewer', scope: 'agents', body: ({ runId }) => ({ id: runId }), foreign: 404 },
  'runs.cancel': { needs: 'operator', scope: 'agents', body: ({ runId }) => ({ id: runId }), foreign: 404 },
}

const topics: Readonly<Record<string, Pick<Row, 'scope'> & { needsContent?: true }>> = {
  request: { scope: 'agents' },
  event: { scope: 'agents' },
  run: { scope: 'agents' },
  step: { scope: 'agents' },
  outbox: { scope: 'agents' },
  approval: { scope: 'agents' },
  log: { scope: 'gateway', needsContent: true },
}

/** 200, 403 or 404: whether it passes, or how it is refused. */
function expected(client: Client, { needs, scope, foreign }: Row, of: Records): 200 | 403 | 404 {
  if (ranks.indexOf(client.role) < ranks.indexOf(needs)) return 403
  if (!client.agents) return 200
  if (scope === 'gateway') return 403
  return client.agents.includes(of.agentId) ? 200 : (foreign ?? 200)
}

const bearer = ({ token }: Pick<Client, 'token'>) => ({ authorization: `Bearer ${token}` })

/** Starts a run for each agent. */
const transform = `export default ({ payload }) =>
  payload.items.map(({ agent, text }) =>
    ({ action: 'agent', agentId: agent, message: text, deliver: false, wakeMode: 'next-heartbeat' }))`

async function startHouse() {
  const dir = temporaryFolder()
  mkdirSync(join(dir, 'transforms'))
  writeFileSync(join(dir, 'transforms', 'share.mjs'), transform)
  const gateway = await startGateway(
    {
      gateway: { auth: { token: gatewayToken, clients } },
      hooks: {
        allowRequestSessionKey: true,
        mappings: [{ match: { path: 'shared' }, transform: { module: 'share.mjs' } }],
      },
      budget: [{ per: '1d', runs: 1000 }],
      agents: { main: {}, ops: {}, defaults: { heartbeat: { every: 0 }, budget: [{ per: '1d', runs: 100 }] } },
      channels: { console: { allowFrom: ['console'], defaultTo: 'console' } },
    },
    dir,
  )
  const [main, ops] = [await addRecords(gateway, 'main'), await addRecords(gateway, 'ops')]
  return { ...gateway, main, ops }
}

async function addRecords({ post, get }: RunningGateway, agentId: string): Promise<Records> {
  const headers = { authorization: `Bearer ${hookToken}`, prefer: 'wait=30' }
  const secret = `Secret of ${agentId}`
  const body = {
    message: secret,
    name: secret,
    sessionKey: `hook:${secret}`,
    agentId,
    channel: 'console',
    to: 'console',
  }
  const { runId, sessionKey: key } = (await post('/hooks/agent', body, headers)).body
  const { items } = (await get('/api/requests')).body
  const { id: requestId } = items.find(({ runIds }: { runIds?: string[] }) => runIds?.includes(runId))
  return { agentId, runId, requestId, sessionKey: key }
}

describe('a client', () => {
  it('gets from each route what its role and its agents allow', async () => {
    const gateway = await startHouse()
    const { paths } = (await gateway.get('/openapi.json')).body as { paths: Record<string, Record<string, Operation>> }
    const guarded = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).flatMap(([method, operation]) =>
        ['tools', 'mcp', 'control'].includes(operation.tags[0] as string)
          ? [{ name: `${method.toUpperCase()} ${path}`, operation }]
          : [],
      ),
    )
    expect(guarded.map(({ name }) => name).toSorted()).toEqual(Object.keys(rows).toSorted())
    for (const { name, operation } of guarded) {
      const row = rows[name] as Row
      expect([name, operation.description]).toEqual([name, expect.stringContaining(`Needs the role ${row.needs}.`)])
      for (const client of clients)
        for (const of of [gateway.ops, gateway.main])
          expect(
            `${name} as ${client.name} for ${of.agentId}: ${await answer(gateway, { name, row, client, of })}`,
          ).toBe(`${name} as ${client.name} for ${of.agentId}: ${expected(client, row, of)}`)
    }
  }, 120_000)

  it('gets in lists only what belongs to its agents', async () => {
    const gateway = await startHouse()
    const { main, ops } = gateway
    const list = async (path: string, name: string) => {
      const client = clients.find((one) => one.name === name) as Client
      return (await gateway.get(path, bearer(client))).body.items as Record<string, unknown>[]
    }
    const lists: [path: string, key: string, of: (records: Records) => string][] = [
      ['/api/runs', 'id', ({ runId }) => runId],
      ['/api/requests', 'id', ({ requestId }) => requestId],
      ['/api/sessions', 'key', (records) => records.sessionKey],
      ['/api/outbox', 'runId', ({ runId }) => runId],
    ]
    for (const [path, key, of] of lists) {
      const keysFor = async (name: string) => (await list(path, name)).map((item) => item[key])
      expect([path, await keysFor('operator')]).toEqual([path, expect.arrayContaining([of(main), of(ops)])])
      const limited = await keysFor('operator-ops')
      expect([path, limited.includes(of(ops)), limited.includes(of(main))]).toEqual([path, true, false])
    }
    // Pages of one item reach the same items, and the cursor tells nothing about other agents.
    const ofOps = bearer(clients.find(({ name }) => name === 'viewer-ops') as Client)
    for (const [path, key] of [...lists, ['/api/schedules', 'id'], ['/api/approvals', 'id'], ['/api/audit', 'id']]) {
      const seen: unknown[] = []
      for (let cursor = ''; ;) {
        const { body } = await gateway.get(`${path}?limit=1${cursor}`, ofOps)
        seen.push(...body.items.map((item: Record<string, unknown>) => item[key]))
        if (body.next === undefined) break
        expect(Buffer.from(body.next.slice(2), 'base64url').toString()).not.toContain('agent:')
        cursor = `&cursor=${encodeURIComponent(body.next)}`
      }
      expect([path, seen]).toEqual([path, (await list(path, 'viewer-ops')).map((item) => item[key])])
    }
    // A cursor that it makes up leads to no foreign record, and is refused where it would name one.
    for (const [path, key] of lists.filter(([one]) => one !== '/api/sessions'))
      for (const item of await list(`${path}?cursor=999999999999999`, 'viewer-ops'))
        expect([path, item[key]]).not.toEqual([path, main[key === 'runId' ? 'runId' : 'requestId']])
    for (const cursor of ['s.abcd', '9999999999999.9999999999.agent:main:main'])
      expect((await gateway.get(`/api/sessions?cursor=${cursor}`, ofOps)).status).toBe(400)
    expect(await list('/api/runs?agentId=main', 'viewer-ops')).toEqual([])
  })

  it('sees the usage and the budgets of its agents', async () => {
    const gateway = await startHouse()
    const read = async (path: string, name: string) =>
      (await gateway.get(path, bearer(clients.find((one) => one.name === name) as Client))).body
    for (const [by, main, ops] of [
      ['agent', 'main', 'ops'],
      ['session', gateway.main.sessionKey, gateway.ops.sessionKey],
    ] as const) {
      const keysOf = ({ items }: { items: Record<string, unknown>[] }) => items.map((item) => item[by])
      const [all, own] = [
        await read(`/api/usage?by=${by}`, 'operator'),
        await read(`/api/usage?by=${by}`, 'operator-ops'),
      ]
      expect(keysOf(all)).toEqual(expect.arrayContaining([main, ops]))
      expect(keysOf(own)).toEqual([ops])
      expect(own.total).toMatchObject({ steps: 1 })
      expect(all.total.steps).toBeGreaterThan(1)
    }
    const keys = async (name: string) =>
      (await read('/api/budgets', name)).items.map(({ key }: { key: string }) => key).toSorted()
    const ofOps = 'agents.defaults.budget[0] (agent ops)'
    expect(await keys('viewer')).toEqual(['agents.defaults.budget[0] (agent main)', ofOps, 'budget[0]'])
    expect(await keys('viewer-ops')).toEqual([ofOps])
  })

  it('reads what was said only with content: true', async () => {
    const gateway = await startHouse()
    const { main } = gateway
    const read = async (path: string, name: string) => {
      const client = clients.find((one) => one.name === name) as Client
      return JSON.stringify((await gateway.get(path, bearer(client))).body)
    }
    const paths = [
      `/runs/${main.runId}`,
      `/runs/${main.runId}/steps`,
      '/api/runs',
      `/api/requests/${main.requestId}`,
      `/api/sessions/${encodeURIComponent(main.sessionKey)}`,
      '/api/outbox',
    ]
    for (const path of paths) {
      for (const name of ['reader', 'operator', 'admin'])
        expect([path, await read(path, name)]).toEqual([path, expect.stringContaining('Secret of main')])
      expect(await read(path, 'viewer')).not.toMatch(/secret/i)
    }
    const search = await read('/api/requests?q=Secret', 'viewer')
    expect(search).toContain('needs \\"content: true\\"')
  })

  it('gets session keys that a payload may have chosen sealed unless it may read contents, and can use them so', async () => {
    const gateway = await startHouse()
    const { main } = gateway
    const read = async (path: string, name: string) =>
      (await gateway.get(path, bearer(clients.find((one) => one.name === name) as Client))).body
    expect((await read(`/runs/${main.runId}`, 'reader')).sessionKey).toBe('agent:main:hook:secret of main')
    const { sessionKey: sealed } = await read(`/runs/${main.runId}`, 'viewer')
    expect(sealed).toMatch(/^agent:main:s\.[\w-]{40,}$/)
    const keys = (await read('/api/sessions', 'viewer')).items.map(({ key }: { key: string }) => key)
    expect(keys).toContain(sealed)
    const key = encodeURIComponent(sealed)
    expect((await read(`/api/sessions/${key}`, 'viewer')).transcript).toHaveLength(2)
    const runs = (await read(`/api/runs?sessionKey=${key}`, 'viewer')).items
    expect(runs.map(({ id }: { id: string }) => id)).toEqual([main.runId])
    const used = (await read('/api/usage?by=session', 'viewer')).items.map(
      ({ session }: { session: string }) => session,
    )
    expect(used).toContain(sealed)
    const last = sealed.at(-1) === 'A' ? 'B' : 'A'
    expect(await read(`/api/sessions/${key.slice(0, -1)}${last}`, 'viewer')).toMatchObject({
      error: { type: 'invalid_request', message: 'The session key is not valid any more; list again.' },
    })
  })

  it('reads of a request that also started work for another agent only what is for its own', async () => {
    const gateway = await startHouse()
    const [limited] = clients.filter(({ name }) => name === 'operator-ops') as [Client]
    const items = ['main', 'ops'].map((agent) => ({ agent, text: `Word for ${agent}` }))
    await gateway.post('/hooks/shared', { items })
    const list = async (query: string, client?: Client) =>
      (await gateway.get(`/api/requests?hook=shared${query}`, client && bearer(client))).body.items
    const [{ id }] = await list('', limited)
    const seen = (await gateway.get(`/api/requests/${id}`, bearer(limited))).body
    expect(seen).not.toHaveProperty('body')
    expect(seen.actions).toEqual([expect.objectContaining({ agentId: 'ops', message: 'Word for ops' })])
    expect(JSON.stringify(seen)).not.toContain('Word for main')
    expect([(await list('&q=Word')).length, await list('&q=Word', limited)]).toEqual([1, []])
    expect(await list('&q=Word+for+main', limited)).toEqual([])
  })

  it('finds in the OpenAPI document no hook and no channel if it is limited to agents', async () => {
    const gateway = await startHouse()
    const paths = async (name: string) => {
      const client = clients.find((one) => one.name === name) as Client
      return Object.keys((await gateway.get('/openapi.json', bearer(client))).body.paths)
    }
    expect(await paths('viewer')).toEqual(expect.arrayContaining(['/hooks/shared', '/hooks/agent', '/api/runs']))
    expect((await paths('admin-ops')).filter((path) => /^\/(hooks|channels)/.test(path))).toEqual([])
    expect(await paths('admin-ops')).toContain('/api/runs')
  })

  it('gets from each method and topic of the WebSocket what its role and its agents allow', async () => {
    const gateway = await startHouse()
    expect([...listMethods()].toSorted()).toEqual(Object.keys(methods).toSorted())
    for (const client of clients) {
      const rpc = await connectRpc(gateway.url)
      await rpc.call('auth', { token: client.token })
      for (const [name, row] of Object.entries(methods))
        for (const of of [gateway.ops, gateway.main]) {
          const got = statusOf(await rpc.call(name, row.body?.(of)))
          expect([name, client.name, of.agentId, got]).toEqual([
            name,
            client.name,
            of.agentId,
            expected(client, row, of),
          ])
        }
      const { error } = await rpc.call('subscribe', { topics: ['none'] })
      expect(error.message).toBe(`topics must be a list of these names: ${Object.keys(topics).join(', ')}.`)
      for (const [topic, { scope, needsContent }] of Object.entries(topics)) {
        const isAllowed =
          (scope === 'agents' || !client.agents) && !(needsContent && client.role === 'viewer' && !client.content)
        const got = statusOf(await rpc.call('subscribe', { topics: [topic] }))
        expect([topic, client.name, got]).toEqual([topic, client.name, isAllowed ? 200 : 403])
      }
    }
  })

  it('receives from topics what belongs to its agents, without contents unless it may read them', async () => {
    const gateway = await startHouse()
    const open = async (name: string): Promise<RpcClient> => {
      const rpc = await connectRpc(gateway.url)
      await rpc.call('auth', { token: clients.find((one) => one.name === name)?.token })
      await rpc.call('subscribe', { topics: ['request', 'event', 'run', 'step', 'outbox'] })
      return rpc
    }
    const [all, limited, viewer] = [await open('operator'), await open('viewer-ops'), await open('viewer')]
    const main = await addRecords(gateway, 'main')
    const ops = await addRecords(gateway, 'ops')
    const isEnd = ({ method, params }: { method: string; params: Record<string, unknown> }) =>
      method === 'outbox' && params['runId'] === ops.runId && params['status'] === 'sent'
    await Promise.all([all, limited, viewer].map((rpc) => rpc.until(isEnd)))
    const texts = (rpc: RpcClient) => rpc.notifications.map((notification) => JSON.stringify(notification)).join('\n')
    expect(texts(all)).toContain(main.runId)
    expect(texts(all)).toContain('Secret of ops')
    expect(texts(limited)).toContain(ops.runId)
    expect(texts(limited)).not.toContain(main.runId)
    expect(texts(limited)).not.toMatch(/secret/i)
    expect(texts(viewer)).toContain(main.runId)
    expect(texts(viewer)).not.toMatch(/secret/i)
    expect(new Set(limited.notifications.map(({ method }) => method))).toEqual(
      new Set(['request', 'run', 'step', 'outbox', ...(texts(limited).includes('"method":"event"') ? ['event'] : [])]),
    )
  })

  it('calls tools over MCP as its role and its agents allow', async () => {
    const gateway = await startHouse()
    for (const client of clients)
      for (const of of [gateway.ops, gateway.main]) {
        const { headers, ...message } = call('agents_list', of) as { headers: Record<string, string> }
        const response = await fetch(`${gateway.url}/mcp`, {
          method: 'POST',
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
          headers: {
            ...bearer(client),
            ...headers,
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
          },
        })
        const { status } = response
        const text = await response.text()
        const row: Row = { needs: 'operator', scope: 'agents', foreign: 403 }
        expect([client.name, of.agentId, status]).toEqual([client.name, of.agentId, expected(client, row, of)])
        if (status === 403) expect(JSON.parse(text).error.type).toBe('forbidden')
      }
  })
})

interface Operation {
  tags: string[]
  description: string
}

interface Asked {
  name: string
  row: Row
  client: Client
  of: Records
}

async function answer({ url }: RunningGateway, { name, row, client, of }: Asked): Promise<number | string> {
  const [method = '', template = ''] = name.split(' ')
  const headers = {
    ...bearer(client),
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const path = row.path?.(of) ?? template
  const response = await fetch(url + path, {
    method,
    headers,
    ...(method === 'POST' && { body: JSON.stringify(row.body?.(of) ?? {}) }),
  })
  const { status } = response
  const text = await response.text()
  const body = status >= 400 ? (JSON.parse(text) as { error?: { type?: string } }) : {}
  const type = body.error?.type
  if (status === 403 || (status === 404 && !(row.foreign === undefined && notFound.has(type ?? ''))))
    return type === 'forbidden' || status === 404 ? status : `403 ${type}`
  return status === 401 || status >= 500 ? `${status} ${type}` : 200
}

function statusOf({ error }: { error?: { data: { type: string } } }): number {
  if (error?.data.type === 'forbidden') return 403
  return error?.data.type.endsWith('_not_found') ? 404 : 200
}

/** The names of all methods. */
function listMethods(): Iterable<string> {
  const names = ['GET /runs/:id', 'POST /api/runs/:id/cancel']
  const endpoints = names.map((name) => ({ method: name.split(' ')[0], path: name.split(' ')[1] }))
  return createMethods({ endpoints } as unknown as Parameters<typeof createMethods>[0]).keys()
}
