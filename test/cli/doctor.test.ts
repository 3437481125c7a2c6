// Tests the command `doctor`: seeds each misconfiguration in a folder and checks that exactly this one is found.
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, inject, it, onTestFinished, vi } from 'vitest'
import { networkStore } from '../../core/cli/doctor/database.ts'
import { findSpaceProblem, networkTypeOf } from '../../core/cli/doctor/disk.ts'
import { diagnose, listFindings } from '../../core/cli/doctor/doctor.ts'
import { type Finding, findingIds } from '../../core/cli/doctor/finding.ts'
import type { DoctorOptions } from '../../core/cli/doctor/subject.ts'
import { type Document, temporaryFolder } from '../helpers.ts'
import { createDatabase, query } from '../postgres.ts'
import { run } from './command-line.ts'

const gatewayToken = 'vT7qk2LxR9mZwB4cYh8dNp3sJf6g'
const hookToken = 'Q8rW2zXv5KpLm7TnYc4bHd9sGj3f'

/** A configuration without findings, and the folder that it is in. */
const clean = {
  gateway: { port: 0, auth: { token: gatewayToken } },
  hooks: { enabled: true, token: hookToken },
  channels: { console: { allowFrom: ['console'], defaultTo: 'console' } },
}

function writeConfig(dir: string, changes: Document = {}): string {
  const document: Document = structuredClone(clean)
  for (const [section, value] of Object.entries(changes))
    document[section] = Array.isArray(value) ? value : { ...(document[section] as object), ...(value as object) }
  const file = join(dir, 'gateway.json5')
  writeFileSync(file, JSON.stringify(document, null, 2), { mode: 0o600 })
  return file
}

const examine = async (dir: string, options: DoctorOptions = {}): Promise<Finding[]> =>
  listFindings(await diagnose({ config: join(dir, 'gateway.json5'), ...options }))

const idsOf = (findings: readonly Finding[]): string[] => findings.map(({ id }) => id)

/** Starts a server on the loopback interface, which is closed at the end of the test. */
async function serve(listener: RequestListener): Promise<{ url: string; port: number }> {
  const server = createHttpServer(listener).listen(0, '127.0.0.1')
  onTestFinished(() => server.close().closeAllConnections())
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port }
}

/** An address at which nothing listens. `fetch` refuses well-known ports such as 1 without trying. */
async function findClosedAddress(): Promise<string> {
  const server = createHttpServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

const models = JSON.stringify({ object: 'list', data: [{ id: 'm' }, { id: 'llama3:latest' }] })

/** A model server with a list of models, whose answer `change` can replace. */
const serveModels = (change: RequestListener = (_request, response) => response.end(models)) => serve(change)

const providerOf = (url: string, settings: object = {}): Document => ({
  providers: { double: { kind: 'openai-compatible', baseUrl: `${url}/v1`, ...settings } },
})

const withClient = (fields: object): Document => ({
  gateway: {
    auth: {
      token: gatewayToken,
      clients: [{ name: 'one', role: 'viewer', token: 'vQ8s-Lw2x-Yb7n-Jc4m-Tz1k', ...fields }],
    },
  },
})

const mapping = (fields: object): Document => ({
  hooks: { mappings: [{ id: 'deploys', match: { path: 'deploys' }, messageTemplate: '{{ text }}', ...fields }] },
})

function writeTransform(dir: string, text: string | undefined): string {
  mkdirSync(join(dir, 'transforms'))
  if (text !== undefined) writeFileSync(join(dir, 'transforms', 'orders.js'), text)
  return writeConfig(dir, mapping({ transform: { module: 'orders.js' } }))
}

function writeStore(dir: string, sql: string): void {
  mkdirSync(join(dir, 'state'), { mode: 0o700 })
  const db = new DatabaseSync(join(dir, 'state', 'gateway.db'))
  db.exec(sql)
  db.close()
}

const pager = `import { defineChannel, Type } from 'svc-gateway/plugin'
  export default defineChannel({ name: 'pager', description: 'Pages.', config: Type.Object({}), target: Type.String(),
    limits: { maxText: 100, idempotency: 'none' }, connect() { throw new Error('must not be called') },
    packages: () => ({ 'x-pager': '1.0.0' }) })`

type Seed = (dir: string) => unknown

/** A name for the test, the ids that are found, and how the misconfiguration is made. */
const seeds: [name: string, ids: Finding['id'][], seed: Seed][] = [
  ['a file that is missing', ['config_missing'], () => undefined],
  ['a key of the wrong type', ['config_invalid'], (dir) => writeConfig(dir, { gateway: { port: 'high' } })],
  [
    'a warning of the rules',
    ['config_warning'],
    (dir) => writeConfig(dir, { hooks: { allowRequestSessionKey: true } }),
  ],
  ['a plugin that cannot be imported', ['plugin_refused'], (dir) => writeConfig(dir, { plugins: ['./gone.js'] })],
  [
    'a plugin with a member that has no effect',
    ['plugin_faulty'],
    (dir) => {
      writeFileSync(join(dir, 'pager.js'), pager.replace('config:', "homepage: 'https://x.example', config:"))
      writeConfig(dir, { plugins: ['./pager.js'] })
    },
  ],
  [
    'an environment variable that is not set',
    ['environment_unset'],
    (dir) => writeConfig(dir, { providers: { double: { kind: 'openai', apiKey: '${NOBODY_SETS_THIS}' } } }),
  ],
  ['a channel that no plugin brings', ['channel_unknown'], (dir) => writeConfig(dir, { channels: { pager: {} } })],
  [
    'a package of a channel that is missing',
    ['package_missing'],
    (dir) => {
      writeFileSync(join(dir, 'pager.js'), pager, { mode: 0o600 })
      writeConfig(dir, { plugins: ['./pager.js'], channels: { pager: { allowFrom: ['1'] } } })
    },
  ],
  [
    'a channel on which nobody may write',
    ['channel_closed'],
    (dir) => writeConfig(dir, { channels: { signal: { account: '+15550100', httpUrl: 'http://127.0.0.1:1' } } }),
  ],
  [
    'a reply that can go nowhere',
    ['reply_undeliverable'],
    (dir) => writeConfig(dir, mapping({ channel: 'signal', to: '+15550100' })),
  ],
  [
    'a heartbeat whose replies can go nowhere',
    ['reply_undeliverable'],
    (dir) => writeConfig(dir, { agents: { defaults: { heartbeat: { target: 'signal' } } } }),
  ],
  [
    'a preset without the secret of its service',
    ['preset_unsigned'],
    (dir) => writeConfig(dir, { hooks: { presets: ['github'] } }),
  ],
  [
    'webhooks that are not turned on',
    ['hooks_disabled'],
    (dir) =>
      writeConfig(dir, { hooks: { enabled: false, presets: ['stripe'], stripe: { auth: { secret: 'whsec_d8f2' } } } }),
  ],
  [
    'a mapping that an earlier one hides',
    ['mapping_unreached'],
    (dir) =>
      writeConfig(dir, {
        hooks: { mappings: [1, 2].map(() => ({ match: { path: 'deploys' }, messageTemplate: '{{ text }}' })) },
      }),
  ],
  [
    'a mapping with the name of a hook of the gateway',
    ['mapping_unreached'],
    (dir) => writeConfig(dir, mapping({ match: { path: 'wake' } })),
  ],
  ['a budget that alerts nobody', ['budget_silent'], (dir) => writeConfig(dir, { budget: [{ per: '1d', runs: 9 }] })],
  [
    'a budget of money for a model without a price',
    ['price_unknown', 'model_unreachable'],
    (dir) =>
      writeConfig(dir, {
        providers: { local: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1' } },
        agents: { defaults: { models: ['builtin/rules', 'local/m'] } },
        budget: [{ per: '1d', usd: 9 }],
        alerts: { channel: 'console', to: 'me' },
      }),
  ],
  ['a transform that is missing', ['transform_broken'], (dir) => writeTransform(dir, undefined)],
  ['a transform with a syntax error', ['transform_broken'], (dir) => writeTransform(dir, 'export default (')],
  ['a transform without a function', ['transform_broken'], (dir) => writeTransform(dir, 'export default 1')],
  [
    'a time zone that does not exist',
    ['time_zone_unknown'],
    (dir) =>
      writeConfig(dir, {
        agents: {
          defaults: { heartbeat: { activeHours: { start: '08:00', end: '20:00', timezone: 'Europe/Atlantis' } } },
        },
      }),
  ],
  ['hooks without a token', ['token_missing'], (dir) => writeConfig(dir, { hooks: { token: '' } })],
  ['a hook token that is short', ['token_short'], (dir) => writeConfig(dir, { hooks: { token: 'Rk4-z' } })],
  [
    'a hook token that is a placeholder',
    ['token_weak'],
    (dir) => writeConfig(dir, { hooks: { token: 'changeme-'.repeat(4) } }),
  ],
  [
    'one token for the gateway and the hooks',
    ['token_reused'],
    (dir) => writeConfig(dir, { hooks: { token: gatewayToken } }),
  ],
  [
    'one token for all hooks and a mapping',
    ['token_reused'],
    (dir) => writeConfig(dir, mapping({ auth: { scheme: 'token', secret: hookToken } })),
  ],
  [
    'a client whose token has expired',
    ['client_expired'],
    (dir) => writeConfig(dir, withClient({ notAfter: '2020-01-31T00:00:00Z' })),
  ],
  [
    'a client whose token expires soon',
    ['client_expiring'],
    (dir) => writeConfig(dir, withClient({ notAfter: new Date(Date.now() + 86_400_000).toISOString() })),
  ],
  ['a client whose token is short', ['token_short'], (dir) => writeConfig(dir, withClient({ token: 'Rk4-z' }))],
  ['a configuration that everybody can read', ['config_readable'], (dir) => chmodSync(writeConfig(dir), 0o644)],
  [
    'a state that everybody can read',
    ['state_readable'],
    (dir) => {
      writeConfig(dir)
      mkdirSync(join(dir, 'state'))
      chmodSync(join(dir, 'state'), 0o755)
    },
  ],
  [
    'a secret file that is missing',
    ['secret_file_missing'],
    (dir) => writeConfig(dir, { hooks: { token: { file: 'hook-token' } } }),
  ],
  [
    'a channel where strangers may write',
    ['strangers_admitted'],
    (dir) => writeConfig(dir, { channels: { console: { dmPolicy: 'open', defaultTo: 'console' } } }),
  ],
  [
    'a secret file that everybody can read',
    ['secret_file_readable'],
    (dir) => {
      writeFileSync(join(dir, 'hook-token'), hookToken)
      chmodSync(join(dir, 'hook-token'), 0o644)
      writeConfig(dir, { hooks: { token: { file: 'hook-token' } } })
    },
  ],
  [
    'a transforms directory that everybody can change',
    ['writable_by_others'],
    (dir) => {
      writeTransform(dir, 'export default () => ({ message: "x" })')
      chmodSync(join(dir, 'transforms'), 0o777)
    },
  ],
  [
    'a folder that everybody can change',
    ['writable_by_others'],
    (dir) => {
      writeConfig(dir)
      chmodSync(dir, 0o777)
    },
  ],
  [
    'a file in the place of the state directory',
    ['state_not_writable'],
    (dir) => {
      writeConfig(dir)
      writeFileSync(join(dir, 'state'), '', { mode: 0o600 })
    },
  ],
  [
    'a workspace that is missing',
    ['workspace_missing'],
    (dir) => writeConfig(dir, { agents: { defaults: { workspace: 'files' } } }),
  ],
  [
    'a workspace that is no folder',
    ['workspace_not_writable'],
    (dir) => {
      writeConfig(dir, { agents: { defaults: { workspace: 'files' } } })
      writeFileSync(join(dir, 'files'), '')
    },
  ],
  [
    'a store of a newer version',
    ['database_newer'],
    (dir) => {
      writeConfig(dir)
      writeStore(dir, "CREATE TABLE migration (version INTEGER, name TEXT); INSERT INTO migration VALUES (99, '099-x')")
    },
  ],
  [
    'a store that is no database',
    ['database_unusable'],
    (dir) => {
      writeConfig(dir)
      mkdirSync(join(dir, 'state'), { mode: 0o700 })
      writeFileSync(join(dir, 'state', 'gateway.db'), 'This is a text and no database.'.repeat(40), { mode: 0o600 })
    },
  ],
  [
    'a store without a limit that has grown large',
    ['database_large'],
    (dir) => {
      writeConfig(dir)
      writeStore(dir, 'CREATE TABLE migration (version INTEGER, name TEXT)')
      truncateSync(join(dir, 'state', 'gateway.db'), 11 * 1024 ** 3)
    },
  ],
  [
    'a PostgreSQL server that does not answer',
    ['database_unreachable'],
    (dir) => writeConfig(dir, { storage: { url: 'postgres://svc:Zk3vQx8r@127.0.0.1:1/gateway' } }),
  ],
  [
    'a password that PostgreSQL rejects',
    ['database_refused'],
    (dir) => writeConfig(dir, { storage: { url: inject('postgresUrl').replace(/:[^:@]+@/, ':wrong-password@') } }),
  ],
  [
    'a PostgreSQL database that only reads',
    ['database_read_only'],
    async (dir) => {
      const { url, remove } = await createDatabase(inject('postgresUrl'))
      onTestFinished(remove)
      await query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = on`)
      writeConfig(dir, { storage: { url } })
    },
  ],
  [
    'a PostgreSQL server that does not sync its disk',
    ['database_risky'],
    (dir) => writeConfig(dir, { storage: { url: inject('postgresUrl') } }),
  ],
  [
    'a model server that does not answer',
    ['model_unreachable'],
    async (dir) => writeConfig(dir, providerOf(await findClosedAddress())),
  ],
  [
    'a model server that fails',
    ['model_unreachable'],
    async (dir) =>
      writeConfig(dir, providerOf((await serveModels((_, response) => response.writeHead(503).end())).url)),
  ],
  [
    'an address without a list of models',
    ['model_list_missing'],
    async (dir) =>
      writeConfig(dir, providerOf((await serveModels((_, response) => response.writeHead(404).end())).url)),
  ],
  [
    'an API key that the model server refuses',
    ['model_key_refused'],
    async (dir) =>
      writeConfig(
        dir,
        providerOf((await serveModels((_, response) => response.writeHead(401).end())).url, { apiKey: 'sk-4f9a81c6' }),
      ),
  ],
  [
    'an API key that is missing',
    ['model_key_missing'],
    (dir) => {
      vi.stubEnv('OPENAI_API_KEY', '')
      onTestFinished(() => void vi.unstubAllEnvs())
      writeConfig(dir, { providers: { double: { kind: 'openai' } } })
    },
  ],
  [
    'a model that the server does not have',
    ['model_unknown', 'turn_cost'],
    async (dir) =>
      writeConfig(dir, { ...providerOf((await serveModels()).url), agents: { defaults: { model: 'double/x' } } }),
  ],
  [
    'a model that costs money',
    ['turn_cost'],
    async (dir) =>
      writeConfig(dir, { ...providerOf((await serveModels()).url), agents: { defaults: { model: 'double/m' } } }),
  ],
  [
    'a port that another program has',
    ['port_taken'],
    async (dir) => writeConfig(dir, { gateway: { ...clean.gateway, port: (await serveModels()).port } }),
  ],
  [
    'an address of another machine',
    ['bind_unknown'],
    (dir) => writeConfig(dir, { gateway: { ...clean.gateway, bind: '203.0.113.7', trustedProxies: ['203.0.113.8'] } }),
  ],
  [
    'a public address without TLS',
    ['bind_public'],
    (dir) => writeConfig(dir, { gateway: { ...clean.gateway, bind: '0.0.0.0' } }),
  ],
  [
    'a proxy that is not trusted',
    ['proxy_untrusted'],
    (dir) => writeConfig(dir, { gateway: { ...clean.gateway, publicUrl: 'https://hooks.example.com' } }),
  ],
]

/** The severity of each finding, as docs/cli.md describes it. */
const documented = new Map(
  Array.from(
    readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')
      .replace(/^[^]*\n## doctor\n([^]*?)\n## [^]*$/, '$1')
      .matchAll(/^\| [^|]+ \| `(\w+)` \| ([^|]+) \|/gm),
    ([, id = '', severity = '']) => [id, severity],
  ),
)

describe('svc-gateway doctor finds', () => {
  it.each(seeds)('%s', async (_name, ids, seed) => {
    const dir = temporaryFolder()
    await seed(dir)
    const findings = await examine(dir)
    expect(idsOf(findings)).toEqual(ids)
    for (const { id, severity, problem, fix } of findings) {
      expect(documented.get(id)).toContain(severity)
      expect(problem).toMatch(/^\S.*\.$/)
      expect(fix).not.toBe('')
      expect(problem + fix).not.toMatch(/Zk3vQx8r|wrong-password|sk-4f9a81c6|vT7qk2Lx|Q8rW2zXv/)
    }
  })

  it.each([
    [600_000, 'error', /^The clock of this machine is (599|60\d) seconds slow, compared with 127\.0\.0\.1:/],
    [-120_000, 'warning', /^The clock of this machine is 1[12]\d seconds fast, compared with 127\.0\.0\.1:/],
  ])('a model server whose clock differs by %i ms', async (difference, severity, problem) => {
    const dir = temporaryFolder()
    const date = new Date(Date.now() + difference).toUTCString()
    writeConfig(
      dir,
      providerOf((await serveModels((_, response) => response.writeHead(200, { date }).end(models))).url),
    )
    const findings = await examine(dir)
    expect(findings).toMatchObject([{ id: 'clock_wrong', severity }])
    expect(findings[0]?.problem).toMatch(problem)
  })

  it('a model server that does not answer, with its address and what to do', async () => {
    const dir = temporaryFolder()
    const address = await findClosedAddress()
    writeConfig(dir, providerOf(address))
    expect(await examine(dir)).toEqual([
      {
        id: 'model_unreachable',
        severity: 'error',
        where: 'providers.double',
        problem: `providers.double does not answer at ${address}/v1/models: nothing listens there.`,
        fix: 'Start or repair the server, or correct providers.double.baseUrl.',
      },
    ])
  })

  it('each kind of problem in a test', () => {
    const tests = ['doctor.test.ts', 'doctor-gateway.test.ts'].map((name) =>
      readFileSync(join(import.meta.dirname, name)),
    )
    expect(findingIds.filter((id) => !tests.join('').includes(`'${id}'`))).toEqual([])
  })

  it('a disk that is nearly full', () => {
    const [mib, gib] = [1024 ** 2, 1024 ** 3]
    const severityOf = (freeBytes: number, totalBytes: number) =>
      findSpaceProblem('/state', { type: 0, freeBytes, totalBytes }).map(({ id, severity }) => [id, severity])
    expect(severityOf(99 * mib, 100 * gib)).toEqual([['disk_nearly_full', 'error']])
    expect(severityOf(900 * mib, 100 * gib)).toEqual([['disk_nearly_full', 'warning']])
    expect(severityOf(900 * mib, 2 * gib)).toEqual([])
    expect(severityOf(50 * gib, 100 * gib)).toEqual([])
  })

  const invalidKey = { error: { code: 400, details: [{ reason: 'API_KEY_INVALID' }] } }
  const noAccess = { error: { message: 'The key has no access.' } }

  it.each([
    { kind: 'openai-compatible', status: 400, body: { error: 'unknown field' }, id: 'model_list_missing' },
    { kind: 'google', status: 400, body: { error: { code: 400, message: 'Bad size.' } }, id: 'model_list_missing' },
    { kind: 'openai-compatible', status: 403, body: '<h1>Forbidden</h1>', id: 'model_list_missing' },
    { kind: 'openai-compatible', status: 500, body: noAccess, id: 'model_unreachable' },
    { kind: 'google', status: 400, body: invalidKey, id: 'model_key_refused' },
    { kind: 'openai-compatible', status: 403, body: noAccess, id: 'model_key_refused' },
  ])('a refused key only where the provider says so: $kind, $status $body', async ({ kind, status, body, id }) => {
    const dir = temporaryFolder()
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const { url } = await serveModels((_, response) => response.writeHead(status).end(text))
    writeConfig(dir, providerOf(url, { kind, apiKey: 'sk-4f9a81c6' }))
    expect(idsOf(await examine(dir))).toEqual([id])
  })

  it('a store on a network file system', () => {
    const typeOf = (type: number) => networkTypeOf({ type, freeBytes: 1, totalBytes: 1 }, 'linux')
    expect(typeOf(0x6969)).toBe('NFS')
    // Some systems report the number with a sign.
    expect(typeOf(0xff534d42 | 0)).toBe('CIFS')
    expect(typeOf(0xef53)).toBeUndefined()
    expect(networkStore('/mnt/gateway.db', 'NFS').id).toBe('database_on_network')
  })
})

describe('docs/cli.md', () => {
  it('lists the ids of all findings, and no other', () => {
    expect(new Set(documented.keys())).toEqual(new Set(findingIds))
  })
})

describe('svc-gateway doctor', () => {
  it('finds nothing in a clean configuration, and exits with 0', async () => {
    const dir = temporaryFolder()
    const { url } = await serveModels()
    const agents = { defaults: { model: 'double/llama3', models: ['double/m', 'double/llama3'] } }
    writeConfig(dir, { ...providerOf(url), agents })
    const { code, stdout, stderr } = await run(dir, ['doctor'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('✓ The model servers have the configured models.')
    expect(stdout).toMatch(/\n\nNo problems were found\.\n$/)
  })

  it('prints each finding with its fix, and exits with 1 for an error', async () => {
    const dir = temporaryFolder()
    chmodSync(writeConfig(dir, { hooks: { token: gatewayToken } }), 0o600)
    const { code, stdout } = await run(dir, ['doctor'])
    expect(code).toBe(1)
    expect(stdout).toContain(
      '  ✗ line 10: hooks.token must differ from the token and password of the gateway. [token_reused]\n' +
        '    Fix: Set another token.\n',
    )
    expect(stdout).toMatch(/\n1 error, 0 warnings\.\n$/)
  })

  it('prints one JSON object per finding, and exits with 1 for a warning if --strict is set', async () => {
    const dir = temporaryFolder()
    writeConfig(dir, { hooks: { token: 'Rk4-z' } })
    const [lenient, strict] = await Promise.all([run(dir, ['doctor', '--json']), run(dir, ['doctor', '--strict'])])
    expect([lenient.code, strict.code]).toEqual([0, 1])
    expect(JSON.parse(lenient.stdout)).toEqual({
      id: 'token_short',
      severity: 'warning',
      where: 'hooks.token',
      line: 10,
      problem: 'hooks.token has fewer than 24 characters and could be guessed.',
      fix: 'Use a longer one.',
    })
  })

  it('compares the history of each agent with the context window of its model', async () => {
    const dir = temporaryFolder()
    const agents = {
      defaults: { model: 'openai/gpt-5-mini', models: [{ id: 'openai/gpt-5-mini', price: { input: 0, output: 0 } }] },
      main: { default: true },
      long: { historyTokens: 400_000 },
    }
    writeConfig(dir, { providers: { openai: { kind: 'openai', apiKey: 'sk-4f9a81c6' } }, agents })
    expect(await examine(dir, { offline: true })).toEqual([
      {
        id: 'history_too_long',
        severity: 'warning',
        where: 'agents.long',
        problem: expect.stringMatching(
          /sends up to 400000 tokens of a conversation, but openai\/gpt-5-mini reads \d+ in all/,
        ),
        fix: expect.stringMatching(/^Set historyTokens of agents\.long to \d+; .*\/new/),
      },
    ])
  })

  it('asks no server with --offline', async () => {
    const dir = temporaryFolder()
    const { url } = await serveModels(() => expect.unreachable())
    writeConfig(dir, { ...providerOf(url), storage: { url: 'postgres://svc@127.0.0.1:1/gateway' } })
    expect(await examine(dir, { offline: true })).toEqual([])
  })

  it('treats a short token as an error when other machines can reach the gateway', async () => {
    const dir = temporaryFolder()
    const gateway = { ...clean.gateway, publicUrl: 'https://hooks.example.com', trustedProxies: ['127.0.0.1'] }
    writeConfig(dir, { gateway, hooks: { token: 'Rk4-z' } })
    expect(await examine(dir)).toMatchObject([{ id: 'token_short', severity: 'error' }])
  })

  it('changes nothing in the folder', async () => {
    const dir = temporaryFolder()
    writeConfig(dir)
    writeStore(dir, 'PRAGMA journal_mode = WAL; CREATE TABLE migration (version INTEGER, name TEXT)')
    const before = listTree(dir)
    expect(await examine(dir)).toEqual([])
    expect(listTree(dir)).toEqual(before)
  })
})

const listTree = (dir: string): string[] =>
  readdirSync(dir, { recursive: true }).map((path) => {
    const { size, mtimeMs } = statSync(join(dir, String(path)))
    return [path, size, mtimeMs].join()
  })
