// Resolving a document to a configuration or a list of errors.
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfigFile } from '../../core/config/file/read.ts'
import type { ConfigProblem } from '../../core/config/config-error.ts'
import { examineConfig, resolveConfig } from '../../core/config/resolve.ts'
import type { ConfigurableExtensions } from '../../core/config/schema/schema.ts'
import { errorOf, extensions, problemsOf, resolveText, temporaryFolder, write } from './document.ts'

describe('an empty document', () => {
  it('resolves to the defaults', () => {
    const { config, warnings } = resolveText('{}')
    expect(warnings).toEqual([])
    expect(config).toEqual({
      gateway: {
        port: 18_789,
        bind: '127.0.0.1',
        auth: { clients: [] },
        tools: {},
        trustedProxies: [],
        page: true,
        drainSeconds: 10,
      },
      hooks: {
        enabled: false,
        path: '/hooks',
        maxBodyBytes: 262_144,
        keepBody: true,
        maxQueuedRuns: 10_000,
        rateLimit: { maxAttempts: 20, windowMs: 60_000, lockoutMs: 60_000 },
        allowRequestSessionKey: false,
        mappings: [],
        presets: [],
        replyToSender: false,
        transformsDir: expect.stringMatching(/\/transforms$/),
      },
      agents: {
        defaults: {
          model: 'builtin/rules',
          timeoutSeconds: 600,
          maxConcurrent: 4,
          maxApprovals: 20,
          maxMessages: 20,
          maxStartedRuns: 20,
          maxSteps: 16,
          maxAttempts: 2,
          retry: { forSeconds: 3600, initialDelaySeconds: 5, maxDelaySeconds: 300, blockSession: true },
          heartbeat: { every: '30m', target: 'none', ackMaxChars: 300 },
        },
      },
      tools: {
        narrowChats: true,
        subagents: { maxDepth: 1, maxActive: 8 },
        timeoutSeconds: 60,
        weather: { unit: 'c' },
      },
      session: {
        mainKey: 'main',
        scope: 'per-agent',
        fallbackChannel: 'whatsapp',
        historyTurns: 20,
        historyTokens: 32_000,
      },
      providers: {},
      channels: {},
      plugins: [],
      storage: {
        url: 'sqlite:state/gateway.db',
        retention: { days: 30, bodyHours: 72, usageDays: 400, maxMb: 0, auditDays: 365 },
      },
      log: { level: 'info' },
      telemetry: { content: false, propagateTo: [] },
    })
  })
})

describe('a document with values', () => {
  it('keeps values and adds defaults', () => {
    const { config } = resolveText(`{
      gateway: { auth: { rateLimit: {} } },
      hooks: { token: '  a-token-with-spaces-around-it  ', path: 'in/hooks//' },
      agents: { helper: { default: true, heartbeat: { every: 0 } } },
      channels: { pager: { key: 'pager-key' } },
    }`)
    expect(config.gateway.auth.rateLimit).toEqual({
      maxAttempts: 10,
      windowMs: 60_000,
      lockoutMs: 300_000,
      exemptLoopback: true,
    })
    expect(config.hooks).toMatchObject({ token: 'a-token-with-spaces-around-it', path: '/in/hooks' })
    expect(config.agents['helper']).toEqual({ default: true, heartbeat: { every: 0 } })
    expect(config.channels['pager']).toEqual({ enabled: true, key: 'pager-key' })
  })

  it('reads a file with a byte order mark', () => {
    expect(resolveText('\uFEFF{ log: { level: "warn" } }').config.log.level).toBe('warn')
  })

  it('does not change prototypes', () => {
    expect(problemsOf('{ agents: { "__proto__": { default: true, polluted: 1 } } }')).toEqual([
      expect.stringContaining('agents.__proto__.polluted is not a known key'),
      expect.stringContaining('agents.__proto__ is not a valid agent id'),
    ])
    expect(({} as Record<string, unknown>)['default']).toBeUndefined()
  })
})

describe('a document with errors', () => {
  it('reports all errors, including those of the rules, in the order of the file', () => {
    const text = `{
  gateway: {
    port: '80',
    prot: 1,
    trustedProxies: ['10.0.0.0/8', 5, 'nonsense'],
  },
  hooks: {
    enabled: true,
    allowedAgentIdsr: [],
    path: '/tools/',
    defaultSessionKey: '\${MISSING}',
  },
  agents: {
    defaults: { models: ['hosted/big', { alias: 'x' }], heartbeat: { every: '30x', target: 'pagr' } },
    one: { default: true },
    two: { default: true, model: 'hosted/small' },
    'Bad Id': {},
  },
  providers: { hosted: { kind: 'hosted', apiKey: 'k', apikey: 'k' }, other: { kind: 'hostd' } },
  channels: {
    pager: { retries: 'many' },
    pigeon: {},
  },
  storage: {},
  // the same again
  storage: {},
}`
    expect(problemsOf(text)).toEqual([
      'line 3: gateway.port must be a whole number',
      'line 4: gateway.prot is not a known key; did you mean "port"?',
      'line 5: gateway.trustedProxies[1] must be an IP address or a CIDR block such as "10.0.0.0/8"',
      'line 5: gateway.trustedProxies[2] must be an IP address or a CIDR block such as "10.0.0.0/8"',
      'line 7: hooks.token is required when hooks are enabled; set a long random token that nothing else uses',
      'line 9: hooks.allowedAgentIdsr is not a known key; did you mean "allowedAgentIds"?',
      'line 10: hooks.path must not be at /tools, which the gateway uses for other routes; use another path ' +
        'such as "/hooks"',
      'line 11: hooks.defaultSessionKey needs the environment variable MISSING, which is not set; set it, or ' +
        'write ${MISSING:-default}',
      'line 14: agents.defaults.models[1].id is required',
      'line 14: agents.defaults.heartbeat.every must be a duration of at most 24 days, such as "90s", "30m" or ' +
        '"1h30m", or 0 for none',
      'line 14: agents.defaults.heartbeat.target must be "none", "last" or the name of a loaded channel; did ' +
        'you mean "pager"?',
      'line 16: agents.two.model must be in the list of allowed models ("models"); add it or choose another one',
      'line 16: agents.two.default must not be true, because agents.one is already the default agent',
      'line 17: agents.Bad Id is not a valid agent id; use 1 to 64 lower-case letters, digits, "-" and "_", ' +
        'starting with a letter or digit',
      'line 19: providers.hosted.apikey is not a known key; did you mean "apiKey"?',
      'line 19: providers.other.kind must be one of "hosted"',
      'line 21: channels.pager.retries must be a whole number',
      'line 21: channels.pager.key is required',
      'line 22: channels.pigeon is not a known key; valid keys: pager',
      'line 26: storage appears twice; remove one of them',
    ])
  })

  it('reports independent errors of one value, but none that follow from a wrong type', () => {
    const auth = "auth: { scheme: 'hmac', header: 'x', secret: 's', signed: '{timestamp}' }"
    expect(problemsOf(`{ hooks: { enabled: true, token: 7, mappings: [{ match: { path: 'x' }, ${auth} }] } }`)).toEqual(
      [
        'line 1: hooks.token must be a string or { file }',
        'line 1: hooks.mappings[0].auth.signed must contain {body}; otherwise anybody could change the body',
        'line 1: hooks.mappings[0].auth.signed contains {timestamp}; set timestampHeader or timestampPrefix',
      ],
    )
  })

  it('reports many errors', () => {
    const keys = Array.from({ length: 100 }, (_, index) => `unheard${index}: 1,`)
    expect(problemsOf(`{ log: { ${keys.join('\n')} } }`)).toHaveLength(100)
  })

  it('has the file and the problems as properties', () => {
    const error = errorOf('{ log: 5 }')
    expect(error.message).toBe(`The configuration ${error.file} has a problem:\n  line 1: log must be an object`)
    expect(error.problems).toEqual([{ path: 'log', line: 1, column: 3, problem: 'must be an object' }])
  })

  it('reports a syntax error with line and column', () => {
    expect(problemsOf('{\n  hooks: { enabled: true,, }\n}')).toEqual([
      "line 2: column 26: invalid JSON5: invalid character ','",
    ])
  })

  it.each(['[]', '5', 'null', '"{}"'])('rejects %s, which is not an object', (text) => {
    expect(problemsOf(text)).toEqual(['line 1: must be an object: { … }'])
  })

  it('rejects invalid UTF-8 and a folder', () => {
    const folder = temporaryFolder()
    const file = join(folder, 'latin.json5')
    writeFileSync(file, Buffer.from('{ a: "é" }', 'latin1'))
    expect(() => readConfigFile(file, {})).toThrow('is not UTF-8 text')
    expect(() => readConfigFile(folder, {})).toThrow('cannot be read (EISDIR)')
  })

  it('never repeats a value that may be a secret', () => {
    const secret = 'hunter2-hunter2-hunter2'
    const text = `{
      gateway: { auth: { mode: 'tokn', token: '${secret}', password: ['${secret}'], pasword: '${secret}' } },
      hooks: { enabled: true, token: '${secret}', path: '${secret} ?' },
      providers: { hosted: { kind: 'hosted', apiKey: { value: '${secret}' }, key: '${secret}' } },
      channels: { pager: { key: '\${SECRET}\${OTHER', region: '\${SECRET}\${MISSING}' } },
    }`
    const error = errorOf(text, { SECRET: secret })
    expect(error.problems.length).toBeGreaterThan(7)
    expect(`${error.message} ${error.stack} ${JSON.stringify(error)}`).not.toContain('hunter2')
  })
})

describe('the section of an extension that was refused', () => {
  const examine = (document: object, refused: ConfigurableExtensions['refused']) => {
    const file = write(JSON.stringify(document))
    const { problems, resolved } = examineConfig(readConfigFile(file), { ...extensions, refused: refused ?? [] })
    const pathsOf = (found: readonly ConfigProblem[]) => found.map(({ path }) => path)
    return { problems: pathsOf(problems), warnings: pathsOf(resolved.warnings) }
  }
  const toolset = { kind: 'toolset', name: 'up' }

  it.each([
    ['has its name', { tools: { up: {} } }, [toolset], [], ['tools.up']],
    ['has the name of another kind', { channels: { up: {} } }, [toolset], ['channels.up'], []],
    ['has another name', { tools: { down: {} } }, [toolset], ['tools.down'], []],
    ['may be of a plugin that could not be read', { tools: { up: {} } }, [{}], [], ['tools.up']],
    ['looks like a typing error', { tools: { byProvidr: { a: {} } } }, [{}], ['tools.byProvidr'], []],
    ['is no section', { tools: { up: ['exec'] } }, [{}], ['tools.up'], []],
    ['is of a provider', { providers: { mine: { kind: 'up' } } }, [{}], [], ['providers.mine']],
    ['is there although nothing was refused', { tools: { up: {} } }, [], ['tools.up'], []],
  ] as const)('is ignored only where it can be one: it %s', (...[, document, refused, problems, warnings]) => {
    expect(examine(document, refused)).toEqual({ problems, warnings })
  })

  it('does not ignore an `auth` whose scheme was refused: the hook would accept other credentials', () => {
    const mappings = [{ match: { path: 'x' }, auth: { scheme: 'up', secret: 's' } }]
    expect(examine({ hooks: { mappings } }, [{ kind: 'scheme', name: 'up' }]).problems).toEqual([
      'hooks.mappings[0].auth.scheme',
    ])
  })
})

describe('a file that others can read', () => {
  it('causes a warning if it contains a secret', () => {
    const file = write("{ gateway: { auth: { token: 'a-token-that-stands-in-the-file' } } }")
    const warnings = () => resolveConfig(readConfigFile(file, {}), extensions).warnings
    expect(warnings()).toEqual([])
    chmodSync(file, 0o644)
    expect(warnings()).toEqual([
      {
        path: '',
        code: 'config_readable',
        line: 1,
        column: 1,
        problem: `contains secrets and can be read by every user of this machine; run "chmod 600 ${file}"`,
      },
    ])
  })

  it.each([
    ['postgres://gateway@db.example.org/gateway', 0],
    ['postgres://gateway:hunter2@db.example.org/gateway', 1],
    ['postgres://db.example.org/gateway?user=gateway&password=hunter2', 1],
    ['sqlite:elsewhere/gateway.db', 0],
  ])('with the store %s causes a warning only for a password', (url, count) => {
    const file = write(`{ storage: { url: '${url}' } }`, 0o644)
    expect(resolveConfig(readConfigFile(file, {}), extensions).warnings).toHaveLength(count)
  })

  it('causes no warning if the secret is elsewhere', () => {
    const file = write("{ gateway: { auth: { token: '${TOKEN}' } } }", 0o644)
    expect(resolveConfig(readConfigFile(file, { TOKEN: 'a-token-from-the-environment' }), extensions).warnings).toEqual(
      [],
    )
  })
})
