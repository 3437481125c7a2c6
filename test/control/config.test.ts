// Tests reading, checking, editing and saving the configuration file over the control API.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileCheck } from '../../core/typebox.ts'
import { describe, expect, it } from 'vitest'
import {
  baseDocument,
  gatewayToken,
  hookToken,
  type RunningGateway,
  spawnGateway,
  startGateway,
  startGatewayOn,
  temporaryFolder,
} from '../helpers.ts'
import { closeAtEnd, share } from '../share.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const adminToken = 'the-token-of-an-admin-0123456789'

const text = `// Kept.
{
  gateway: { port: 0, auth: { token: '${gatewayToken}', clients: [
    { name: 'ann', role: 'admin', token: '${adminToken}' },
    { name: 'bob', role: 'operator', token: 'the-token-of-an-operator-012345' },
  ] } },
  hooks: {
    enabled: true, // on
    token: '${hookToken}',
    mappings: [
      { id: 'one', match: { path: 'one' }, messageTemplate: 'One.', deliver: false },
    ],
  },
  agents: { defaults: { heartbeat: { every: 0 } } },
}
`

async function start() {
  const dir = temporaryFolder()
  const file = join(dir, 'gateway.json5')
  writeFileSync(file, text, { mode: 0o600 })
  return withFile(await startGatewayOn(file), file)
}

function withFile(gateway: RunningGateway, file: string) {
  const call = (path: string, body: object, headers = {}) => gateway.post(path, body, { ...operator, ...headers })
  return {
    ...gateway,
    file,
    call,
    read: async () => (await gateway.get('/api/config/file')).body as { text: string; etag: string },
    check: async (changed: string) => (await call('/api/config/check', { text: changed })).body,
    save: (changed: string, etag: string, headers = {}) =>
      call('/api/config/file', { text: changed }, { 'if-match': etag, ...headers }),
    audit: async () =>
      (await gateway.get('/api/audit')).body.items as { action: string; actor: object; outcome: string }[],
  }
}

describe('GET /api/config/file', () => {
  const gateway = share(start)

  it('returns the text as it is, with its entity tag, and records who has read it', async () => {
    const { get, file, audit, logged } = gateway()
    const { status, body, headers } = await get('/api/config/file', { authorization: `Bearer ${adminToken}` })
    expect([status, body]).toEqual([
      200,
      { ok: true, file, text, etag: expect.stringMatching(/^"[\w-]{22}"$/), isWritable: true },
    ])
    expect([headers.get('etag'), headers.get('cache-control')]).toEqual([body.etag, 'no-store'])
    expect((await audit())[0]).toMatchObject({ action: 'config.read', actor: { name: 'ann' }, outcome: 'done' })
    expect(logged.join()).not.toContain(adminToken)
  })

  it('refuses an operator, and records that', async () => {
    const { get, audit } = gateway()
    const refused = await get('/api/config/file', { authorization: 'Bearer the-token-of-an-operator-012345' })
    expect([refused.status, refused.body.error.message]).toEqual([403, expect.stringContaining('needs the role admin')])
    await expect
      .poll(async () => (await audit())[0])
      .toMatchObject({ action: 'config.read', actor: { name: 'bob' }, outcome: 'refused' })
  })
})

describe('POST /api/config/check', () => {
  const gateway = share(start)

  it('finds nothing in the file', async () => {
    expect(await gateway().check(text)).toMatchObject({ ok: true, problems: [], changed: [], restartFor: [] })
  })

  it('names each problem with its place and the nearest known key, and saves nothing', async () => {
    const { check, file } = gateway()
    const wrong = text
      .replace('enabled: true', 'enabld: true')
      .replace("id: 'one', ", "id: 'one', sessionKey: '{{a | shout}}', ")
    const { problems } = await check(wrong)
    expect(problems).toMatchObject([
      { path: 'hooks.enabld', line: 8, column: 5, problem: expect.stringContaining('did you mean "enabled"?') },
      { path: 'hooks.mappings[0].sessionKey', line: 11, column: 20, problem: expect.stringContaining('shout') },
    ])
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('names the place of invalid JSON5, and of a key that appears twice', async () => {
    const { check } = gateway()
    expect((await check('{\n  hooks: }')).problems).toMatchObject([{ path: '', line: 2, column: 10 }])
    expect((await check('{ log: {},\n  log: {} }')).problems).toMatchObject([{ path: 'log', line: 2, column: 3 }])
  })

  it('warns, and says which keys differ and which of them need a restart', async () => {
    const { check } = gateway()
    const changed = text.replace('port: 0,', "port: 0, bind: '::1', drainSeconds: 3,").replace(hookToken, 'short')
    expect(await check(changed)).toMatchObject({
      problems: [],
      warnings: [{ path: 'hooks.token', line: 9, problem: expect.stringContaining('24 characters') }],
      changed: ['gateway.bind', 'gateway.drainSeconds', 'hooks.token'],
      restartFor: ['gateway.bind'],
    })
  })

  it('finds a transform that cannot be used', async () => {
    const { check } = gateway()
    const { warnings } = await check(text.replace("'One.'", "'One.', transform: { module: 'nothing.ts' }"))
    expect(warnings).toMatchObject([{ path: 'hooks.mappings[0].transform.module', line: 11 }])
  })

  it('does not load a plugin that the gateway has not loaded', async () => {
    const { check, dir } = gateway()
    const trace = join(dir, 'trace.txt')
    writeFileSync(join(dir, 'plugin.mjs'), `import { writeFileSync } from 'node:fs'; writeFileSync('${trace}', '')`)
    const reply = await check(text.replace('{\n', "{\n  plugins: ['./plugin.mjs'],\n"))
    expect(reply).toMatchObject({
      problems: [],
      warnings: [{ path: 'plugins', problem: expect.stringContaining('needs a restart') }],
      restartFor: ['plugins'],
    })
    expect(readdirSync(dir)).not.toContain('trace.txt')
  })
})

describe('POST /api/config/edit', () => {
  const gateway = share(start)

  it('changes keys and keeps comments, without saving', async () => {
    const { call, file } = gateway()
    const edits = [
      { path: ['hooks', 'enabled'], value: false },
      { path: ['hooks', 'mappings', '-'], value: { id: 'two' } },
    ]
    const { body } = await call('/api/config/edit', { text, edits })
    expect(body.text).toBe(
      text
        .replace('enabled: true', 'enabled: false')
        .replace('deliver: false },\n', "deliver: false },\n      { id: 'two' },\n"),
    )
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('refuses what it cannot edit', async () => {
    const { call } = gateway()
    const edits = [{ path: ['hooks', 'mappings', '5'], value: 1 }]
    const missing = await call('/api/config/edit', { text, edits })
    expect([missing.status, missing.body.error.message]).toEqual([400, expect.stringContaining('has no item "5"')])
    const broken = await call('/api/config/edit', { text: '{ a', edits })
    expect([broken.status, broken.body.error.type]).toEqual([400, 'invalid_request'])
    expect((await call('/api/config/edit', { text, edits: [{ path: [] }] })).status).toBe(400)
  })
})

describe('POST /api/config/file', () => {
  it('saves the text as it is, for this user only, and applies it', async () => {
    const { read, save, get, audit, file, post, logged } = await start()
    const { etag } = await read()
    const changed = text.replace("path: 'one'", "path: 'two'").replace('port: 0', 'port: 1')
    const { status, body, headers } = await save(changed, etag, { authorization: `Bearer ${adminToken}` })
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        etag: headers.get('etag'),
        changed: ['gateway.port', 'hooks.mappings'],
        restartFor: ['gateway.port'],
      },
    ])
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([changed, 0o600])
    expect((await post('/hooks/two', {})).status).toBe(200)
    expect((await post('/hooks/one', {})).status).toBe(404)
    expect(await read()).toMatchObject({ text: changed, etag: body.etag })
    const entries = (await audit()).filter(({ action }) => action === 'config.save')
    expect(entries).toMatchObject([{ actor: { name: 'ann' }, outcome: 'done' }])
    expect((await get('/api/audit')).body.items.map(({ action }: { action: string }) => action)).not.toContain(
      'config.reload',
    )
    expect(logged.join()).not.toContain(adminToken)
  })

  it('does not replace a file that has changed since it was read', async () => {
    const { read, save, file } = await start()
    const { etag } = await read()
    const theirs = text.replace('// on', '// still on')
    writeFileSync(file, theirs)
    const refused = await save(text.replace('// on', '// mine'), etag)
    expect([refused.status, refused.body.error.type]).toEqual([412, 'precondition_failed'])
    expect(readFileSync(file, 'utf8')).toBe(theirs)
    const { etag: newer } = await read()
    expect((await save(text.replace('// on', '// mine'), newer)).status).toBe(200)
  })

  it('saves only one of two texts that are based on the same file', async () => {
    const { read, save, file } = await start()
    const { etag } = await read()
    const texts = ['first', 'second'].map((comment) => text.replace('// on', `// ${comment}`))
    const replies = await Promise.all(texts.map((one) => save(one, etag)))
    expect(replies.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 412]))
    expect(readFileSync(file, 'utf8')).toBe(texts[replies.findIndex(({ status }) => status === 200)])
  })

  it('saves nothing that is not valid, and names the problems', async () => {
    const { read, save, file } = await start()
    const { etag } = await read()
    const refused = await save(text.replace('enabled', 'enabld'), etag)
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      expect.stringMatching(/line 8: hooks\.enabld is not a known key; did you mean "enabled"\?/),
    ])
    expect((await save(text, '')).status).toBe(400)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('says why a saved file is not in effect', async () => {
    const { read, save, file, post } = await start()
    const { etag } = await read()
    // The next start would generate a credential, and a reload does not.
    const changed = text.replace(`token: '${gatewayToken}', `, '').replace("path: 'one'", "path: 'two'")
    const { status, body } = await save(changed, etag)
    expect([status, body.notApplied]).toEqual([200, expect.stringContaining('The gateway has no credential')])
    expect(readFileSync(file, 'utf8')).toBe(changed)
    expect((await post('/hooks/one', {})).status).toBe(200)
  })

  it('says that a file cannot be written', async () => {
    const { read, save, file, dir } = await start()
    const { etag } = await read()
    rmSync(file)
    const refused = await save(text, etag)
    expect([refused.status, refused.body.error]).toEqual([
      409,
      { type: 'conflict', message: expect.stringContaining('cannot be read (ENOENT)') },
    ])
    expect(readdirSync(dir)).not.toContain('gateway.json5')
  })

  it('is applied once, although the gateway watches the file', async () => {
    const dir = temporaryFolder()
    const file = join(dir, 'gateway.json5')
    writeFileSync(file, text, { mode: 0o600 })
    const child = await spawnGateway(file)
    closeAtEnd(async () => void (await child.end('SIGKILL')))
    const headers = { ...operator, 'content-type': 'application/json' }
    const ask = async (path: string, init: RequestInit = {}) =>
      (await fetch(child.url + path, { headers, ...init })).json()
    const save = async (changed: string) => {
      const { etag } = (await ask('/api/config/file')) as { etag: string }
      const body = JSON.stringify({ text: changed })
      return await ask('/api/config/file', { method: 'POST', body, headers: { ...headers, 'if-match': etag } })
    }
    expect(await save(text.replace("'One.'", "'Two.'"))).toMatchObject({ ok: true, changed: ['hooks.mappings'] })
    // A later change by hand is noticed, so the watcher has seen the first one.
    writeFileSync(file, text.replace("'One.'", "'Three.'"))
    const reloads = async () => {
      const { items } = (await ask('/api/audit?action=config.reload')) as { items: object[] }
      return items.length
    }
    await expect.poll(reloads, { timeout: 30_000 }).toBe(1)
  })
})

describe('GET /api/config/schema', () => {
  const gateway = share(() => startGateway())

  it('describes the file as it is written, with the sections of extensions', async () => {
    const { body } = await gateway().get('/api/config/schema')
    expect(body.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
    const { gateway: section, channels, hooks, providers } = body.properties
    expect(section.properties.port).toMatchObject({ type: 'integer', default: 18_789, description: expect.any(String) })
    expect(section.properties.auth.properties.token).toMatchObject({
      secret: true,
      anyOf: [{ type: 'string' }, { type: 'object' }],
    })
    expect(Object.keys(channels.properties)).toEqual(expect.arrayContaining(['console', 'telegram']))
    expect(hooks.properties.github.description).toEqual(expect.any(String))
    expect(providers.additionalProperties.allOf.length).toBeGreaterThan(1)
    const check = compileCheck(body)
    const written = {
      ...baseDocument,
      hooks: { enabled: true, token: { file: 'hook-token' } },
      providers: { local: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1' } },
    }
    expect(check.problems(written)).toEqual([])
    expect(check.fits({ ...written, hooks: { enabld: true } })).toBe(false)
    expect(check.fits({ ...written, providers: { local: { kind: 'openai-compatible', baseUrl: 1 } } })).toBe(false)
  })

  it('shows each default that a description names, also one that is not filled in', async () => {
    const { body } = await gateway().get('/api/config/schema')
    expect(JSON.stringify(body)).not.toMatch(/"(?:fallback|keyNames)":/)
    const described = listDescribed(body)
    const named = described.filter(({ description }) => description.includes('Default: '))
    expect(named.length).toBeGreaterThan(100)
    const wrong = described.flatMap(({ path, description, value }) => {
      const problem = findDefaultProblem({ description, value, root: body as Node })
      return problem === undefined ? [] : [`${path} ${problem}: ${description}`]
    })
    expect(wrong).toEqual([])
  })

  it('shows the defaults of settings where they apply, and none where a key is inherited', async () => {
    const { body } = await gateway().get('/api/config/schema')
    const defaultOf = (path: string): unknown => keyAt(body as Node, path)?.default
    const shown = {
      'approvals.timeout': '1h',
      'agents.any.approvals.timeout': undefined,
      'tools.byOrigin.hook.beyondRuleOfTwo': 'deny',
      'agents.any.tools.byOrigin.hook.beyondRuleOfTwo': undefined,
      'hooks.mappings.0.transform.timeoutMs': 1000,
      'hooks.mappings.0.auth.signed': '{body}',
      'hooks.gmail.watch.labels': ['INBOX'],
      'hooks.gmail.auth.scheme': 'google-oidc',
      'hooks.circleci.auth.prefix': 'v1=',
      'hooks.circleci.auth.algorithm': 'sha256',
      'hooks.circleci.wakeMode': 'now',
      'channels.telegram.dmPolicy': 'allowlist',
      'channels.telegram.groups.any.requireMention': true,
      'channels.telegram.accounts.any.dmPolicy': undefined,
      'channels.telegram.accounts.any.directSession': undefined,
      'channels.telegram.apiRoot': 'https://api.telegram.org',
      'channels.telegram.accounts.any.apiRoot': undefined,
      'channels.signal.httpUrl': 'http://127.0.0.1:8080',
    }
    expect(Object.fromEntries(Object.keys(shown).map((path) => [path, defaultOf(path)]))).toEqual(shown)
    for (const key of ['allowFrom', 'dmPolicy', 'directSession', 'agentId', 'groups'])
      expect(keyAt(body as Node, `channels.telegram.accounts.any.${key}`)?.description).toMatch(/of the channel\.$/)
  })

  it('has the formats that the check knows, and lets a variable stand for each', async () => {
    const { get, post } = gateway()
    const fits = compileCheck((await get('/api/config/schema')).body).fits
    for (const [path, right, wrong, problem] of formats) {
      for (const value of [right, '${FORMAT}'].flat())
        expect([path, value, fits(documentWith(path, value))]).toEqual([path, value, true])
      for (const value of wrong) {
        const document = documentWith(path, value)
        expect([path, value, fits(document)]).toEqual([path, value, false])
        const { body } = await post('/api/config/check', { text: JSON.stringify(document) }, operator)
        const { problem: found } =
          body.problems.find((one: { path: string }) => one.path === pathInMessages(path)) ?? {}
        expect([path, value, found]).toEqual([path, value, expect.stringMatching(problem)])
      }
    }
  })
})

interface Node {
  description?: string
  default?: unknown
  properties?: Record<string, Node>
  additionalProperties?: Node
  items?: Node
  anyOf?: Node[]
}

const alternativesOf = (node: Node): Node[] => [node, ...(node.anyOf ?? []).flatMap(alternativesOf)]

/** The schema of the value at a dotted path. */
const keyAt = (root: Node, path: string): Node | undefined =>
  path.split('.').reduce<Node | undefined>(
    (node, key) =>
      node &&
      alternativesOf(node)
        .map(({ properties = {}, items, additionalProperties }) => properties[key] ?? items ?? additionalProperties)
        .find((one) => typeof one === 'object'),
    root,
  )

/** All schemas with a description, at any depth. */
function listDescribed(node: unknown, path = ''): { path: string; description: string; value: unknown }[] {
  if (typeof node !== 'object' || node === null) return []
  const { description, default: value } = node as Node
  const own = typeof description === 'string' ? [{ path, description, value }] : []
  const inside = Object.entries(node).filter(([key]) => !['default', 'enum'].includes(key))
  return [...own, ...inside.flatMap(([key, child]) => listDescribed(child, `${path}.${key}`))]
}

interface Described {
  description: string
  value: unknown
  root: Node
}

/** Whether the default is the one that the description names: a value, another key, or something in words. */
function findDefaultProblem({ description, value, root }: Described): string | undefined {
  const [, named] = /\bDefault: (.*?)(?:\.(?= |$)|$)/s.exec(description) ?? []
  const others = description.replace('Default: ', '').replaceAll(/the default (?:agent|export)/g, '')
  if (/\bdefault\b/i.test(others)) return 'names a default in other words than "Default: …."'
  const literal = /^(?:`([^`]+)`|"([^"]+)"|(\S+))$/
    .exec(named ?? '')
    ?.slice(1)
    .find(Boolean)
  if (value !== undefined && named !== undefined)
    return (typeof value === 'string' ? value : JSON.stringify(value)) === literal
      ? undefined
      : `has the default ${JSON.stringify(value)}`
  const isInWords = literal === undefined || ['any', 'anything', 'all', 'nobody', 'none'].includes(literal)
  return isInWords || keyAt(root, literal) ? undefined : 'has no default'
}

/** As the gateway writes paths: `a.0.b` → `a[0].b`. */
const pathInMessages = (path: string): string => path.replaceAll(/\.(\d+)/g, '[$1]')

/** Keys that the holder of a value must have as well. */
const required: Readonly<Record<string, object>> = {
  'providers.any': { kind: 'anthropic' },
  'gateway.auth.clients.0': { name: 'ann', role: 'admin', token: adminToken },
  'agents.main.heartbeat.activeHours': { start: '08:00', end: '18:00' },
  'hooks.mappings.0.auth.secrets.0': { secret: 'of-the-sender-0123456789' },
  'hooks.mappings.0.auth': { scheme: 'github', secret: 'of-the-sender-0123456789' },
}

/** A document with one value at a dotted path. */
function documentWith(path: string, value: unknown): object {
  const keys = path.split('.')
  const holderOf = (inside: unknown, key: string, index: number) =>
    key === '0' ? [inside] : { ...required[keys.slice(0, index).join('.')], [key]: inside }
  return keys.reduceRight<unknown>(holderOf, value) as object
}

type Format = readonly [path: string, right: unknown[], wrong: unknown[], problem: RegExp]

const formats: readonly Format[] = [
  [
    'agents.defaults.heartbeat.every',
    [0, '0', '90s', '1h30m'],
    [5, '5', '1.5h', true],
    /24 days, such as "90s", "30m"/,
  ],
  [
    'providers.any.firstTokenTimeout',
    [0, '5m'],
    [1, 'soon'],
    /^must be a duration of at most 24 days, such as "90s" or/,
  ],
  ['approvals.timeout', ['30m', '2d'], ['', 'soon', 0], /^must be a duration of at most 24 days, such as "30m", "1h"/],
  ['agents.main.approvals.timeout', ['30m'], ['30'], /^must be a duration of at most 24 days/],
  ['budget.limits.0.per', ['1h', '30d'], ['1w', 1], /^must be whole days, such as "1d"/],
  ['budget.timezone', ['UTC', 'America/Port-au-Prince', 'Etc/GMT+2'], ['+02:00', ''], /^must be an IANA time zone/],
  ['agents.main.heartbeat.activeHours.start', ['00:00', '23:59'], ['24:00', '8:00'], /from "00:00" to "23:59"$/],
  ['agents.main.heartbeat.activeHours.end', ['24:00'], ['24:01', '8'], /from "00:00" to "24:00"$/],
  ['agents.main.heartbeat.activeHours.timezone', ['Europe/Berlin'], [' UTC'], /^must be an IANA time zone/],
  ['gateway.trustedProxies.0', ['10.0.0.1', '10.0.0.0/8', 'fd00::/8', '::1'], ['proxy', '10.0.0.0/'], /CIDR block/],
  ['gateway.allowedOrigins.0', ['https://app.example.com'], ['app.example.com', 'https://a/b'], /an origin without/],
  ['gateway.auth.clients.0.notAfter', ['2030-01-31', '2030-01-31T00:00:00Z'], ['1', 'Jan 31 2030'], /must be a time/],
  [
    'storage.url',
    ['sqlite:a.db', 'postgres://a@b/c', 'postgresql://b'],
    ['a.db', 'sqlite:', ''],
    /"sqlite:" and a path/,
  ],
  ['hooks.path', ['/hooks', 'hooks/', '/a/b.c'], ['/a b', '/a//b', '/ä'], /^must be a plain path/],
  ['hooks.mappings.0.thinking', ['high', '{{ level }}'], ['hard', ''], /^must be one of "off".*, or a template$/],
  ['hooks.mappings.0.auth.secrets.0.notAfter', ['2030-01-31'], ['soon'], /^must be a time such as 2030/],
  ['hooks.mappings.0.auth.url', ['https://a.example/hooks'], ['a.example', 'https://'], /^must be a complete URL/],
  ['hooks.mappings.0.auth.handshake.header', ['X-Hook-Secret'], ['location'], /whose name begins with "x-"/],
]
