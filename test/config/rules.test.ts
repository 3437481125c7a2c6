// The rules that the schema of a single key cannot express.
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { problemsOf, resolveText, warningsOf } from './document.ts'

const long = 'a-long-enough-token-of-the-hooks'

describe('hooks.token', () => {
  it.each([
    "{ hooks: { enabled: true, token: ' \t ' } }",
    "{ hooks: { enabled: true, token: '' } }",
    '{ hooks: { enabled: true } }',
  ])('is required: %s', (text) => {
    expect(problemsOf(text)).toEqual([expect.stringContaining('hooks.token is required when hooks are enabled')])
  })

  it('is optional if hooks are off', () => {
    expect(resolveText('{ hooks: { enabled: false } }').config.hooks.token).toBeUndefined()
  })

  it.each([
    ['the token', `gateway: { auth: { token: ' ${long} ' } },`, {}],
    ['the password', `gateway: { auth: { mode: 'password', password: '${long}' } },`, {}],
    ['the token of the environment', '', { SVC_GATEWAY_TOKEN: long }],
    ['the password of the environment', '', { SVC_GATEWAY_PASSWORD: long }],
  ])('must not be %s of the gateway', (_, gateway, env) => {
    expect(problemsOf(`{ ${gateway} hooks: { enabled: true, token: '${long}' } }`, env)).toEqual([
      'line 1: hooks.token must differ from the token and password of the gateway; set another token',
    ])
  })

  it('causes a warning below 24 characters', () => {
    expect(warningsOf(`{ hooks: { enabled: true, token: '${'x'.repeat(23)}' } }`)).toEqual([
      expect.stringContaining('hooks.token has fewer than 24 characters'),
    ])
    expect(warningsOf(`{ hooks: { enabled: true, token: '${'x'.repeat(24)}' } }`)).toEqual([])
  })
})

describe('gateway.auth.clients', () => {
  const one = (fields: string) => `{ name: 'one', role: 'viewer', ${fields} }`
  const written = (clients: string) =>
    `{ gateway: { auth: { token: 'the-own-token-of-the-gateway', clients: [${clients}] } },
       hooks: { enabled: true, token: '${long}' } }`
  const hash = `tokenHash: 'sha256:${createHash('sha256').update('the-token-of-the-client').digest('hex')}'`

  it.each([
    [
      'a name that another client has',
      `${one(hash)}, { name: 'one', role: 'admin', token: '${long}-2' }`,
      'name is also the name of gateway.auth.clients[0]',
    ],
    ['the name of the gateway', `{ name: 'gateway', role: 'admin', ${hash} }`, 'name must not be "gateway"'],
    ['no token', one(''), 'has no token'],
    ['two tokens', one(`token: '${long}-2', ${hash}`), 'tokenHash cannot be combined with "token"'],
    [
      'the token of the gateway',
      one(`token: ' the-own-token-of-the-gateway'`),
      'token must differ from the token of the gateway',
    ],
    ['the token of the hooks', one(`token: '${long}'`), 'token must differ from the token of the hooks'],
    [
      'the token of another client',
      `${one(hash)}, { name: 'two', role: 'admin', token: 'the-token-of-the-client' }`,
      'token must differ from the token of the client "one"',
    ],
    ['a hash that is not one', one(`tokenHash: 'md5:1'`), 'tokenHash must be a digest'],
    ['a time that is not one', one(`${hash}, notAfter: 'soon'`), 'notAfter must be a time'],
    ['an unknown agent', one(`${hash}, agents: ['mian']`), 'names "mian", which is no agent; did you mean "main"?'],
    ['no agents', one(`${hash}, agents: []`), 'agents'],
  ])('must not have %s', (_, clients, problem) => {
    expect(problemsOf(written(clients))[0]).toContain(problem)
  })

  it('causes a warning for a short token', () => {
    expect(warningsOf(written(one(`token: 'short'`)))).toEqual([
      expect.stringContaining('gateway.auth.clients[0].token has fewer than 24 characters'),
    ])
    expect(warningsOf(written(one(hash)))).toEqual([])
  })
})

describe('hooks.onFailure', () => {
  const warned = (channel: string, channels = '{}') =>
    warningsOf(`{ hooks: { onFailure: { channel: '${channel}' } }, channels: ${channels} }`)

  it('must name a loaded channel', () => {
    expect(problemsOf(`{ hooks: { onFailure: { channel: 'pigeon' } } }`)).toEqual([
      expect.stringContaining('hooks.onFailure.channel must be "last" or the name of a loaded channel'),
    ])
  })

  it('causes a warning if its channel is not configured', () => {
    expect(warned('pager')).toEqual([
      expect.stringContaining('hooks.onFailure.channel is a channel that is not configured'),
    ])
    expect(warned('pager', "{ pager: { key: 'abcd' } }")).toEqual([])
    expect(warned('last')).toEqual([])
  })
})

describe('hooks.path', () => {
  it.each(['hooks', '/hooks/', '//hooks//', ' /hooks '])('normalizes %j to /hooks', (path) => {
    expect(resolveText(`{ hooks: { path: '${path}' } }`).config.hooks.path).toBe('/hooks')
  })

  it.each(['', '/', '///', '  '])('rejects %j, which is empty', (path) => {
    expect(problemsOf(`{ hooks: { path: '${path}' } }`)).toEqual([
      expect.stringContaining('hooks.path must not be the root'),
    ])
  })

  it.each([
    '/tools',
    'tools/x',
    '/mcp',
    '/api/',
    '/ws',
    '/runs',
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/metrics',
    '/docs',
    '/docs/hooks',
    '/page',
  ])('rejects the reserved path %j', (path) => {
    expect(problemsOf(`{ hooks: { path: '${path}' } }`)).toEqual([
      expect.stringContaining('hooks.path must not be at /'),
    ])
  })

  it.each(['/a//b', '/a?b', '/a b', '/:name', '/*', '/a/../b', '/%2e', '/ü'])(
    'rejects %j, which is not a plain path',
    (path) => {
      expect(problemsOf(`{ hooks: { path: '${path}' } }`)).toEqual([
        expect.stringContaining('hooks.path must be a plain path'),
      ])
    },
  )

  it.each(['/toolshed', '/my-hooks/v1', '/Tools'])('accepts %j', (path) => {
    expect(resolveText(`{ hooks: { path: '${path}' } }`).config.hooks.path).toBe(path)
  })
})

describe('webhooks with wide access', () => {
  it('cause a warning if any session key is accepted', () => {
    expect(warningsOf('{ hooks: { allowRequestSessionKey: true } }')).toEqual([
      expect.stringContaining('hooks.allowRequestSessionKey lets a webhook continue any session'),
    ])
    expect(warningsOf("{ hooks: { allowRequestSessionKey: true, allowedSessionKeyPrefixes: ['hook:'] } }")).toEqual([])
  })

  it('cause a warning if an allowed agent does not exist', () => {
    expect(warningsOf("{ agents: { a: {} }, hooks: { allowedAgentIds: ['A', 'main', '*', 'defaults'] } }")).toEqual([
      expect.stringContaining('hooks.allowedAgentIds[1] is not a configured agent'),
      expect.stringContaining('hooks.allowedAgentIds[3] is not a configured agent'),
    ])
    expect(warningsOf("{ hooks: { allowedAgentIds: ['main'] } }")).toEqual([])
  })
})

describe('gateway', () => {
  it('needs the credential of its mode if only the other is set', () => {
    expect(problemsOf("{ gateway: { auth: { mode: 'token', password: 'a-password-that-is-long-enough' } } }")).toEqual([
      'line 1: gateway.auth.token is required, because gateway.auth.mode is "token"; set it or ' +
        'SVC_GATEWAY_TOKEN, or set the mode to "password"',
    ])
    expect(problemsOf("{ gateway: { auth: { mode: 'password' } } }", { SVC_GATEWAY_TOKEN: long })).toEqual([
      expect.stringContaining('gateway.auth.password is required'),
    ])
  })

  it('needs no credential, because the start generates one', () => {
    expect(warningsOf("{ gateway: { auth: { mode: 'password' } } }")).toEqual([])
  })

  it('rejects a blank credential', () => {
    expect(problemsOf("{ gateway: { auth: { token: ' ', password: '' } } }")).toEqual([
      'line 1: gateway.auth.token must not be blank',
      'line 1: gateway.auth.password must not be blank',
    ])
  })

  it.each(['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8', ' 10.1.2.3 '])('accepts the proxy %j', (proxy) => {
    expect(warningsOf(`{ gateway: { trustedProxies: ['${proxy}'] } }`)).toEqual([])
  })

  it.each(['10.0.0.0/33', 'fd00::/129', '10.0.0', 'proxy.example', '10.0.0.0/8/8', '10.0.0.0/', '', '*'])(
    'rejects the proxy %j',
    (proxy) => {
      expect(problemsOf(`{ gateway: { trustedProxies: ['${proxy}'] } }`)).toEqual([
        expect.stringContaining('gateway.trustedProxies[0] must be an IP address'),
      ])
    },
  )

  it('accepts the URL of a PostgreSQL database, without a maximum size', () => {
    const url = 'postgres://gateway@db.example.org/gateway'
    expect(warningsOf(`{ storage: { url: '${url}' } }`)).toEqual([])
    expect(problemsOf(`{ storage: { url: '${url}', retention: { maxMb: 10 } } }`)).toEqual([
      expect.stringContaining('storage.retention.maxMb works only with an SQLite store'),
    ])
  })

  it.each([
    ['sslmode=verify', 'has an unknown sslmode; use one of disable, prefer, require, verify-ca, verify-full'],
    ['sslmode=verify-ca', 'has sslmode=verify-ca, which needs sslrootcert=<file>'],
    [
      'target_session_attrs=prefer-standby',
      'has a target_session_attrs that a gateway cannot use, because it writes; use one of any, read-write, primary',
    ],
  ])('rejects a PostgreSQL database with %s, without repeating the URL', (parameter, problem) => {
    const problems = problemsOf(
      `{ storage: { url: 'postgres://gateway:a-secret@db.example.org/gateway?${parameter}' } }`,
    )
    expect(problems).toEqual([expect.stringContaining(`storage.url ${problem}`)])
    expect(problems.join()).not.toContain('a-secret')
  })

  it('rejects an unsupported storage URL', () => {
    expect(problemsOf("{ storage: { url: 'mysql://db' } }")).toEqual([
      expect.stringContaining('storage.url must be "sqlite:" and a path'),
    ])
  })
})

describe('agents.<id>.heartbeat', () => {
  const problems = (heartbeat: string) =>
    problemsOf(`{ agents: { a: { heartbeat: { ${heartbeat} } } } }`).map((line) =>
      line.replace('line 1: agents.a.heartbeat.', ''),
    )

  it.each(["every: '-1m'", 'every: 30', "every: ''", "every: '25d'", "every: 'daily'"])('rejects %s', (every) => {
    expect(problems(every)).toEqual([expect.stringMatching(/^every must be a duration/)])
  })

  it('checks the active hours', () => {
    expect(problems("activeHours: { start: '24:00', end: '7:00', timezone: 'Mars/Olympus' }")).toEqual([
      'activeHours.start must be a time of day from "00:00" to "23:59"',
      'activeHours.end must be a time of day from "00:00" to "24:00"',
      'activeHours.timezone must be an IANA time zone, such as "Europe/Berlin" or "UTC"',
    ])
    expect(problems("activeHours: { start: '08:00', end: '08:00' }")).toEqual([
      expect.stringContaining('activeHours.end must differ from the start'),
    ])
    expect(
      warningsOf(
        "{ agents: { defaults: { heartbeat: { activeHours: { start: '22:00', end: '24:00', timezone: " +
          "'Asia/Tokyo' } } } } }",
      ),
    ).toEqual([])
  })

  it.each(['none', 'last', 'pager'])('accepts the target %s', (target) => {
    const channels = "channels: { pager: { key: 'a-key', allowFrom: ['1'] } }"
    expect(warningsOf(`{ ${channels}, agents: { a: { heartbeat: { target: '${target}' } } } }`)).toEqual([])
  })
})

describe('models', () => {
  const hosted = "providers: { hosted: { kind: 'hosted', apiKey: 'k' } }"

  it('are accepted by reference or alias', () => {
    const agents =
      "agents: { defaults: { model: 'quick', models: [{ id: 'hosted/small', alias: 'quick' }, 'hosted/org/big'] " +
      "}, a: { model: 'hosted/org/big' } }"
    expect(warningsOf(`{ ${hosted}, ${agents} }`)).toEqual([])
  })

  it('of an agent with its own list must be in that list', () => {
    const agents =
      "agents: { defaults: { model: 'hosted/a' }, a: { models: ['hosted/b'] }, b: { models: ['hosted/a'], " +
      "heartbeat: { model: 'hosted/b' } } }"
    expect(problemsOf(`{ ${hosted}, ${agents} }`)).toEqual([
      expect.stringContaining('agents.a.model must be in the list of allowed models'),
      expect.stringContaining('agents.b.heartbeat.model must be in the list of allowed models'),
    ])
  })

  it('need a configured provider', () => {
    expect(
      problemsOf(
        `{ ${hosted}, agents: { defaults: { model: 'hostd/a' }, a: { model: 'zzz/a' }, b: { model: 'plain' } } }`,
      ),
    ).toEqual([
      'line 1: agents.defaults.model uses the provider "hostd", which is not configured; did you mean "hosted/…"?',
      'line 1: agents.a.model uses the provider "zzz", which is not configured; add a section providers.zzz ' +
        'with a kind (hosted)',
      'line 1: agents.b.model must be <provider>/<model>, such as "builtin/rules", or an alias from the list of ' +
        'allowed models',
    ])
  })

  it('in a list may have an unknown provider, and must have unique aliases', () => {
    expect(warningsOf("{ agents: { defaults: { models: ['builtin/rules', 'later/x'] } } }")).toEqual([
      expect.stringContaining('agents.defaults.models[1] uses the provider "later"'),
    ])
    expect(
      problemsOf(
        `{ ${hosted}, agents: { defaults: { models: [{ id: 'hosted/a', alias: 'x' }, { id: 'hosted/b', alias: ` +
          `'x' }, { id: 'c', alias: 'a/b' }] } } }`,
      ),
    ).toEqual([
      expect.stringContaining('agents.defaults.models[1].alias must be unique'),
      expect.stringContaining('agents.defaults.models[2].id must be <provider>/<model>'),
      expect.stringContaining('agents.defaults.models[2].alias must not contain "/"'),
    ])
  })

  it('keep the built-in default with a warning if the list lacks it', () => {
    expect(warningsOf(`{ ${hosted}, agents: { defaults: { models: ['hosted/a'] } } }`)).toEqual([
      expect.stringContaining('agents.defaults.model is builtin/rules, which is not in the list'),
    ])
  })
})

describe('channels.<name>', () => {
  it('checks each account with the inherited settings', () => {
    expect(warningsOf("{ channels: { pager: { key: 'shared', accounts: { a: {}, b: { region: 'eu' } } } } }")).toEqual(
      [],
    )
    expect(
      problemsOf(
        "{ channels: { pager: { region: 'eu', accounts: { a: { key: 'own-key' }, b: {}, c: { key: 'abc', kye: " +
          "'abcd' } } } } }",
      ),
    ).toEqual([
      'line 1: channels.pager.accounts.c.kye is not a known key; did you mean "key"?',
      'line 1: channels.pager.accounts.c.key must have at least 4 characters',
      'line 1: channels.pager.accounts.b.key is required',
    ])
  })

  it('may lack settings while it is disabled', () => {
    expect(warningsOf('{ channels: { pager: { enabled: false } } }')).toEqual([])
  })
})

describe('providers.<name>', () => {
  it('must have a name without a slash', () => {
    expect(problemsOf("{ providers: { 'a/b': { kind: 'hosted', apiKey: 'k' } } }")).toEqual([
      expect.stringContaining('providers.a/b is not a valid provider name'),
    ])
  })

  const hosted = (firstTokenTimeout: string | number) =>
    JSON.stringify({ providers: { a: { kind: 'hosted', apiKey: 'k', firstTokenTimeout } } })

  it.each(['90s', '5m', 0])('may have the firstTokenTimeout %j, whatever its kind', (timeout) => {
    expect(resolveText(hosted(timeout)).config.providers['a']?.firstTokenTimeout).toBe(timeout)
  })

  it.each(['-1s', 90, 'soon', '25d'])('rejects the firstTokenTimeout %j', (timeout) => {
    expect(problemsOf(hosted(timeout))).toEqual([
      expect.stringContaining('providers.a.firstTokenTimeout must be a duration of at most 24 days, such as "90s"'),
    ])
  })
})

describe('numbers', () => {
  it.each([
    'drainSeconds: NaN',
    'drainSeconds: Infinity',
    'port: 1.5',
    'port: -1',
    'port: 65536',
    'auth: { rateLimit: { lockoutMs: 1e300 } }',
  ])('rejects %s', (number) => {
    expect(problemsOf(`{ gateway: { ${number} } }`)).toHaveLength(1)
  })
})
