// Tests what the command `doctor` finds in a running gateway: in a real one, and in a double of its control API for
// states that are hard to bring about.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { diagnose, listFindings } from '../../core/cli/doctor/doctor.ts'
import type { Finding } from '../../core/cli/doctor/finding.ts'
import { writeListening } from '../../core/cli/listening.ts'
import { identifyStore } from '../../core/store/sqlite/store-files.ts'
import { readVersion } from '../../core/version.ts'
import { type Document, gatewayToken, spawnGateway, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { createDatabase } from '../postgres.ts'
import { run } from './command-line.ts'

/** The findings about the running gateway. */
async function examine(url: string, token = gatewayToken): Promise<Finding[]> {
  const reports = await diagnose({ config: writeConfig(temporaryFolder()), url, token })
  return listFindings(reports.filter(({ name }) => name === 'Running gateway'))
}

const hourAgo = new Date(Date.now() - 3_700_000).toISOString()
const metrics = (version: string, reload: number) =>
  `svc_gateway_info{version="${version}"} 1\nsvc_gateway_config_last_reload_successful ${reload}\n`

/** What a healthy gateway answers. */
const healthy: Record<string, unknown> = {
  '/readyz': { ok: true },
  '/metrics': metrics(readVersion(), 1),
  '/api/channels': { accounts: [{ channel: 'console', accountId: 'default', state: 'connected' }] },
  '/api/extensions': {
    jobs: [{ preset: 'gmail', state: 'connected' }],
    toolsets: [{ toolset: 'mcp', state: 'open' }],
  },
  '/api/gateways': { items: [{ name: 'two:18789', hasSameConfig: true }] },
  '/api/runs?status=running&limit=200': { items: [] },
  '/api/runs?status=queued&limit=200': { items: [] },
  '/api/outbox?status=failed&limit=200': { items: [] },
  '/api/outbox?status=unknown&limit=200': { items: [] },
  '/api/requests?limit=20': { items: [] },
}

/** A number is the status of an answer without a body. */
async function serveControl(changes: Record<string, unknown>): Promise<string> {
  const answers = { ...healthy, ...changes }
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? '']
    if (typeof answer === 'number') response.writeHead(answer).end()
    else response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => server.close().closeAllConnections())
  await new Promise((resolve) => server.once('listening', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const waiting = { id: 'r1', status: 'queued', createdAt: hourAgo }

it('svc-gateway doctor finds that the store is another file than the gateway has opened', async () => {
  const config = writeConfig(temporaryFolder())
  const ids = async () => listFindings(await diagnose({ config, offline: true })).map(({ id }) => id)
  const path = join(dirname(config), 'state/gateway.db')
  mkdirSync(dirname(path))
  for (const file of [path, `${path}.copy`]) writeFileSync(file, '')
  writeListening(config, { bind: '127.0.0.1', port: 1, store: identifyStore(path)[0] })
  expect(await ids()).not.toContain('database_replaced')
  renameSync(`${path}.copy`, path)
  expect(await ids()).toContain('database_replaced')
})

describe('svc-gateway doctor finds in the running gateway', () => {
  it.each<[string, Finding['id'][], Record<string, unknown>]>([
    ['nothing while it is healthy', [], {}],
    ['that it is not ready', ['gateway_not_ready'], { '/readyz': 503 }],
    ['another version', ['version_differs'], { '/metrics': metrics('0.0.1', 1) }],
    ['a rejected change of the configuration', ['config_not_loaded'], { '/metrics': metrics(readVersion(), 0) }],
    ['that it rejects the credential', ['gateway_refused'], { '/api/channels': 401 }],
    ['that it fails', ['gateway_unreachable'], { '/api/channels': 500 }],
    [
      'a job that fails',
      ['job_failing'],
      { '/api/extensions': { jobs: [{ preset: 'gmail', state: 'failing', reason: 'The mailbox is full.' }] } },
    ],
    [
      'a toolset that fails',
      ['toolset_failing'],
      { '/api/extensions': { toolsets: [{ toolset: 'tickets', state: 'failing', reason: 'The server is away.' }] } },
    ],
    [
      'an account that has to be linked',
      ['channel_disconnected'],
      { '/api/channels': { accounts: [{ channel: 'whatsapp', accountId: 'default', state: 'login_required' }] } },
    ],
    [
      'a run that has started long ago',
      ['runs_stuck'],
      {
        '/api/runs?status=running&limit=200': {
          items: [{ id: 'r1', status: 'running', createdAt: hourAgo, startedAt: hourAgo }],
        },
      },
    ],
    ['a run that has waited for long', ['runs_stuck'], { '/api/runs?status=queued&limit=200': { items: [waiting] } }],
    [
      'nothing in a run that waits for its next attempt',
      [],
      {
        '/api/runs?status=queued&limit=200': {
          items: [{ ...waiting, nextAttemptAt: new Date(Date.now() + 60_000).toISOString() }],
        },
      },
    ],
    [
      'nothing in a request through a proxy that is trusted',
      [],
      {
        '/api/requests?limit=20': { items: [{ id: 'q1' }] },
        '/api/requests/q1': { client: '203.0.113.9', headers: { 'x-forwarded-for': '198.51.100.1, 203.0.113.9' } },
      },
    ],
  ])('%s', async (_name, ids, changes) => {
    expect((await examine(await serveControl(changes))).map(({ id }) => id)).toEqual(ids)
  })

  it('that nothing answers', async () => {
    const [finding] = await examine('http://127.0.0.1:28')
    expect(finding).toMatchObject({ id: 'gateway_unreachable', severity: 'error' })
    expect(finding?.problem).toBe('The gateway at http://127.0.0.1:28 does not answer (ECONNREFUSED).')
  })

  it('what a real one reports', async () => {
    const { url, post, get } = await startGateway({
      channels: { telegram: { botToken: '1:a', apiRoot: 'http://127.0.0.1:1', allowFrom: ['1'] } },
    })
    const body = { message: 'Hello.', channel: 'signal', to: '+15550100' }
    await post('/hooks/agent', body, { prefer: 'wait=60', 'x-forwarded-for': '203.0.113.9' })
    const accounts = async () => (await get('/api/channels')).body.accounts as { channel: string; state: string }[]
    await expect.poll(async () => (await accounts()).some(({ state }) => state === 'failing')).toBe(true)
    const findings = await examine(url)
    expect(findings.map(({ id, where }) => [id, where])).toEqual([
      ['channel_disconnected', 'channels.telegram'],
      ['proxy_untrusted', 'gateway.trustedProxies'],
      ['deliveries_failed', 'channels.signal'],
    ])
    expect(findings[1]?.fix).toBe('If the proxy is yours, add "127.0.0.1" to gateway.trustedProxies.')
    expect(await examine(url, 'another-token')).toMatchObject([{ id: 'gateway_refused' }])
  })

  it('that gateways on its store have another configuration, apart from what depends on the machine', async () => {
    const database = await createDatabase(inject('postgresUrl'))
    onTestFinished(database.remove)
    const storage = { url: database.url }
    const one = await startGateway({ storage })
    const other = await startGateway({ storage })
    const name = `${hostname()}:${new URL(other.url).port}`
    const problem = `Gateways on the same store run with another configuration than the gateway at ${one.url}: ${name}.`
    const listed = async () => (await one.get('/api/gateways')).body.items
    const change = async (changes: Document) => {
      writeConfig(other.dir, { storage, ...changes })
      await other.gateway.reload()
    }
    await expect.poll(listed).toEqual([{ name, hasSameConfig: true }])
    expect(await examine(one.url)).toEqual([])
    const ofMachine = { log: { level: 'debug' }, agents: { defaults: { workspace: '/srv/files' } } }
    const changed: [Document, hasSameConfig: boolean][] = [
      [{ hooks: { maxQueuedRuns: 9 } }, false],
      [{}, true],
      [{ hooks: { token: 'Another-token-of-webhooks-4711' } }, false],
      [ofMachine, true],
    ]
    for (const [changes, hasSameConfig] of changed) {
      await change(changes)
      await expect.poll(listed).toEqual([{ name, hasSameConfig }])
      const found = (await examine(one.url)).map((finding) => [finding.id, finding.severity, finding.problem])
      expect(found).toEqual(hasSameConfig ? [] : [['config_differs', 'warning', problem]])
    }
  })

  it('nothing, when it is the one that runs with the configuration', async () => {
    const dir = temporaryFolder()
    const tokens = { gateway: 'vT7qk2LxR9mZwB4cYh8dNp3sJf6g', hooks: 'Q8rW2zXv5KpLm7TnYc4bHd9sGj3f' }
    const file = writeConfig(dir, {
      gateway: { port: 0, auth: { token: tokens.gateway } },
      hooks: { token: tokens.hooks },
      channels: { console: { allowFrom: ['console'], defaultTo: 'console' } },
    })
    const gateway = await spawnGateway(file)
    onTestFinished(() => void gateway.end('SIGKILL'))
    const { code, stdout } = await run(dir, ['doctor', '--config', file])
    expect(stdout).toContain('✓ It is ready, and runs the installed version and the current configuration.')
    expect(code).toBe(0)
    expect(await gateway.end('SIGTERM')).toBe(0)
  })
})
