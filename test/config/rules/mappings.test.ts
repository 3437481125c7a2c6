// The rules of mappings, presets and transforms: errors and warnings.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { describeProblem } from '../../../core/config/config-error.ts'
import { readConfigFile } from '../../../core/config/file/read.ts'
import { examineConfig, resolveConfig } from '../../../core/config/resolve.ts'
import { definePreset, Type } from '../../../core/plugin/plugin.ts'
import { extensions, problemsOf, resolveText, warningsOf, write } from '../document.ts'

const hooks = (keys: object) => JSON.stringify({ hooks: keys })
const mapping = (keys: object) => hooks({ mappings: [keys] })
const path = { match: { path: 'x' }, messageTemplate: 'm', deliver: false }

describe('sessions that several hooks can reach', () => {
  const keyed = (...keys: string[]) =>
    warningsOf(
      hooks({ mappings: keys.map((sessionKey, index) => Object.assign({ id: `m${index}`, sessionKey }, path)) }),
    )

  it.each([
    [['hook:{{ x }}', 'hook:{{ y }}']],
    [['hook:github:{{ x }}', 'hook:{{ y }}']],
    [['hook:one', 'hook:one']],
    [['hook:one', 'hook:{{ y }}']],
  ])('are warned about: %j', (keys) => {
    expect(keyed(...keys)).toContainEqual(
      expect.stringContaining('hooks.mappings[1].sessionKey can name a session that hooks.mappings[0] can also name'),
    )
  })

  it('are none if the keys begin differently', () => {
    expect(keyed('hook:a:{{ x }}', 'hook:b:{{ x }}', 'hook:c').join()).not.toContain('can also name')
  })

  it('include the one of hooks.defaultSessionKey', () => {
    expect(warningsOf(hooks({ defaultSessionKey: 'hook:all', mappings: [path] }))).toContainEqual(
      expect.stringContaining('hooks.defaultSessionKey is the session of all hooks without a sessionKey'),
    )
  })
})

describe('hooks.mappings', () => {
  it('accept every key', () => {
    const every = {
      id: 'a',
      match: { path: 'x', source: 'y' },
      action: 'agent',
      wakeMode: 'now',
      name: 'n',
      agentId: 'main',
      sessionKey: 'hook:{{ id }}',
      messageTemplate: '{{ a.b[0] }}',
      textTemplate: 't',
      deliver: true,
      channel: 'pager',
      to: '{{ to }}',
      model: 'builtin/rules',
      thinking: 'low',
      timeoutSeconds: 1.5,
      allowUnsafeExternalContent: false,
      transform: { module: 'a.ts', export: 'b', timeoutMs: 5 },
      auth: { scheme: 'github', secret: 's' },
      idempotencyKey: '{{ id }}',
      accountId: 'default',
      threadId: '1',
      concurrency: 2,
      rateLimit: { maxPerMinute: 5 },
    }
    expect(warningsOf(JSON.stringify({ channels: { pager: { key: 'a-key' } }, hooks: { mappings: [every] } }))).toEqual(
      [],
    )
    expect(warningsOf(mapping({ ...path, forEach: 'payload.items' }))).toEqual([])
  })

  it.each([
    [
      'an unknown key',
      { ...path, mesageTemplate: 'x' },
      'hooks.mappings[0].mesageTemplate is not a known key; did you mean "messageTemplate"?',
    ],
    [
      'an unknown key inside',
      { match: { paht: 'x' } },
      'hooks.mappings[0].match.paht is not a known key; did you mean "path"?',
    ],
    ['an unknown action', { ...path, action: 'sleep' }, 'hooks.mappings[0].action must be one of "wake", "agent"'],
    [
      'an unknown channel',
      { ...path, channel: 'slak' },
      'hooks.mappings[0].channel is not a channel; did you mean "slack"?',
    ],
    ['an unknown thinking level', { ...path, thinking: 'ultra' }, 'hooks.mappings[0].thinking must be one of "off"'],
    ['a template where none is', { ...path, agentId: '{{ agent }}' }, 'hooks.mappings[0].agentId is used as written'],
    [
      'a forEach that is no path',
      { ...path, forEach: '{{ items }}' },
      'hooks.mappings[0].forEach must be a path without braces',
    ],
    [
      'forEach beside a transform',
      { ...path, forEach: 'items', transform: { module: 'a.ts' } },
      'hooks.mappings[0].forEach cannot be combined with transform',
    ],
    [
      'auth without a path',
      { match: { source: 'x' }, auth: { scheme: 'github', secret: 's' } },
      'hooks.mappings[0].auth requires match.path',
    ],
    [
      'braces that hold no path',
      { ...path, textTemplate: '{{ a + b }}' },
      'hooks.mappings[0].textTemplate contains {{ a + b }} at character 1: it is not a path',
    ],
    [
      'an unknown filter',
      { ...path, name: 'Order {{ id | trunkate: 5 }}' },
      'name contains {{ id | trunkate: 5 }} at character 7: "trunkate" is not a filter; did you mean "truncate"?',
    ],
    ['auth without a secret', { ...path, auth: { scheme: 'github' } }, 'hooks.mappings[0].auth.secret is required'],
    ['a path of slashes', { match: { path: '//' } }, 'hooks.mappings[0].match.path must be the name of a hook'],
  ])('stop the start with %s', (_case, keys, problem) => {
    expect(problemsOf(mapping(keys))).toEqual([expect.stringContaining(problem)])
  })

  it.each([
    [
      'a name that is served otherwise',
      { ...path, match: { path: '/wake' } },
      'hooks.mappings[0].match.path is "wake"',
    ],
    [
      'a name with white space',
      { ...path, match: { path: 'my hook' } },
      'hooks.mappings[0].match.path contains white space',
    ],
    [
      'a name with an empty segment',
      { ...path, match: { path: 'ci//nightly' } },
      'hooks.mappings[0].match.path contains white space, or a segment that is empty',
    ],
    ['no match', { ...path, match: {} }, 'hooks.mappings[0].match has neither path nor source'],
    [
      'external content without its wrapper',
      { ...path, allowUnsafeExternalContent: true },
      'hooks.mappings[0].allowUnsafeExternalContent shows the text of the sender',
    ],
    [
      'a session of the payload',
      { ...path, sessionKey: '{{ key }}' },
      'hooks.mappings[0].sessionKey lets the payload choose any session',
    ],
    ['an unknown model', { ...path, model: 'nobody/x' }, 'hooks.mappings[0].model uses the provider "nobody"'],
  ])('cause a warning: %s', (_case, keys, warning) => {
    expect(warningsOf(mapping(keys))).toEqual([expect.stringContaining(warning)])
  })

  it('cause a warning for an event that no heartbeat reads', () => {
    const warnings = (agents: object, agentId = 'ops') =>
      warningsOf(
        JSON.stringify({
          agents,
          hooks: { mappings: [{ ...path, action: 'wake', wakeMode: 'next-heartbeat', textTemplate: 'x', agentId }] },
        }),
      )
    expect(warnings({ main: {}, ops: {} })).toEqual([
      expect.stringContaining('wakeMode waits for a heartbeat that agents.ops does not have'),
    ])
    for (const agents of [{ ops: {} }, { main: {}, ops: { heartbeat: {} } }, { main: {}, ops: { default: true } }])
      expect(warnings(agents)).toEqual([])
    expect(warnings({ main: {}, ops: {} }, 'main')).toEqual([])
  })

  describe('whose signature covers the URL', () => {
    const warnings = (auth: object, gateway: object = {}) =>
      warningsOf(JSON.stringify({ gateway, hooks: { mappings: [{ ...path, auth }] } }))
    const twilio = { scheme: 'twilio', secret: 's' }
    const hmac = { scheme: 'hmac', header: 'x', secret: 's', signed: '{url}{body}' }
    const google = { scheme: 'google-oidc', email: 'e' }
    const publicUrl = 'https://hooks.example.com'

    it.each([
      ['twilio', twilio],
      ['hmac with {url}', hmac],
    ])('cause a warning without a URL: %s', (_case, auth) => {
      expect(warnings(auth)).toEqual([
        expect.stringMatching(/^hooks\.mappings\[0\]\.auth\.url is not set, and neither is gateway\.publicUrl/),
      ])
      expect(warnings(auth, { publicUrl })).toEqual([])
      expect(warnings({ ...auth, url: `${publicUrl}/hooks/x` })).toEqual([])
    })

    it('need an audience for Google, or gateway.publicUrl', () => {
      const problems = problemsOf(mapping({ ...path, auth: google }))
      expect(problems).toEqual([
        expect.stringContaining(
          'hooks.mappings[0].auth.audience is required; set the audience of the push subscription, or ' +
            'gateway.publicUrl',
        ),
      ])
      expect(warnings(google, { publicUrl })).toEqual([])
    })

    it.each([
      'hooks.example.com',
      'ftp://x',
      'https://x.example/?a=1',
      'https://x.example/#a',
      'https://',
      'https://x y',
      '',
    ])('gateway.publicUrl may not be %j', (address) => {
      expect(problemsOf(JSON.stringify({ gateway: { publicUrl: address } }))).toEqual([
        expect.stringContaining('gateway.publicUrl'),
      ])
    })
  })

  it('have unique ids and are checked even next to invalid entries', () => {
    const document = hooks({
      mappings: [{ ...path, id: 'a' }, 7, { ...path, id: 'a' }, { channel: 'x', match: { path: 'y' } }],
    })
    expect(problemsOf(document)).toEqual([
      expect.stringContaining('hooks.mappings[1] must be an object'),
      expect.stringContaining('hooks.mappings[2].id ("a") is the id of an earlier mapping'),
      expect.stringContaining('hooks.mappings[3].channel is not a channel'),
    ])
  })

  it('have no warning about a value that is an error', () => {
    const document = readConfigFile(write(mapping({ ...path, deliver: true, channel: 'telgram' })))
    const { problems, resolved } = examineConfig(document, extensions)
    expect([problems.length, resolved.warnings]).toEqual([1, []])
  })

  it('have no id that is the name of an enabled preset', () => {
    const document = { mappings: [{ ...path, id: 'github' }], presets: ['github'], github: { auth: { secret: 's' } } }
    expect(problemsOf(hooks(document))).toContainEqual(
      expect.stringContaining('hooks.mappings[0].id ("github") is the name of an enabled preset'),
    )
    expect(warningsOf(hooks({ mappings: [{ ...path, id: 'github' }] }))).toEqual([])
  })

  it('check agents and sessions against the lists of the hooks', () => {
    const document = { allowedAgentIds: ['main'], allowedSessionKeyPrefixes: ['hook:team:'] }
    const warnings = (keys: object) => warningsOf(hooks({ ...document, mappings: [{ ...path, ...keys }] }))
    expect(warnings({ agentId: 'ops' })).toEqual([
      expect.stringContaining('agentId is not one of hooks.allowedAgentIds'),
    ])
    expect(warnings({ sessionKey: 'agent:ops:hook:team:a' })).toContainEqual(
      expect.stringContaining('sessionKey is a session of another agent than "main"'),
    )
    expect(warnings({ sessionKey: 'hook:other' })).toEqual([expect.stringContaining('sessionKey begins with none of')])
    for (const sessionKey of ['hook:team:a', 'hook:{{ id }}']) expect(warnings({ sessionKey })).toEqual([])
  })
})

describe('hooks.mappings that cannot work', () => {
  const agent = { match: { path: 'x' }, deliver: false }

  it.each([
    ['without a text', agent, '[0] has neither messageTemplate nor transform, so its requests get 400'],
    ['a wake without a text', { ...agent, action: 'wake' }, '[0] has neither textTemplate nor transform'],
    [
      'a wake with the text of an agent',
      { ...agent, action: 'wake', messageTemplate: 'm' },
      '[0].messageTemplate is not used by the action "wake"',
    ],
    [
      'an agent with the text of a wake',
      { ...agent, textTemplate: 't' },
      '[0].textTemplate is not used by the action "agent"',
    ],
    [
      'braces that are never closed',
      { ...agent, messageTemplate: '{{ a }} and {{ b' },
      '[0].messageTemplate contains "{{" without a closing "}}"',
    ],
  ])('cause a warning: %s', (_case, keys, warning) => {
    expect(warningsOf(mapping(keys))).toEqual([expect.stringContaining(`hooks.mappings${warning}`)])
  })

  it('need no text with a transform', () => {
    expect(warningsOf(mapping({ ...agent, transform: { module: 'a.ts' } }))).toEqual([])
    expect(warningsOf(mapping({ ...agent, action: 'wake', transform: { module: 'a.ts' } }))).toEqual([])
  })

  it.each([
    ['the same path', { path: 'x' }, { path: '/x/' }, true],
    ['the same path and any source before one', { path: 'x' }, { path: 'x', source: 's' }, true],
    ['any path before one', { source: 's' }, { path: 'x', source: 's' }, true],
    ['one source before any', { path: 'x', source: 's' }, { path: 'x' }, false],
    ['another source', { path: 'x', source: 's' }, { path: 'x', source: 't' }, false],
    ['another path', { path: 'x' }, { path: 'y' }, false],
  ])('cause a warning if no request reaches them: %s', (...[, first, second, unreached]) => {
    const [one, other] = [
      { ...path, match: first },
      { ...path, match: second },
    ]
    const warning =
      'hooks.mappings[1] is never reached, because hooks.mappings[0] ("first") matches all of its requests'
    expect(warningsOf(hooks({ mappings: [{ ...one, id: 'first' }, other] }))).toEqual(
      unreached ? [expect.stringContaining(warning)] : [],
    )
  })

  it('report the id and the index of the mapping', () => {
    const { warnings } = resolveText(hooks({ mappings: [{ ...path, id: 'orders', messageTemplate: '{{ a' }] }))
    expect(warnings.map(describeProblem)).toEqual([
      expect.stringContaining('line 1: hooks.mappings[0].messageTemplate ("orders") contains'),
    ])
    expect(problemsOf(mapping({ id: 'orders', match: { paht: 'x' } }))).toEqual([
      'line 1: hooks.mappings[0].match.paht ("orders") is not a known key; did you mean "path"?',
    ])
  })
})

describe('agentId of a mapping or preset', () => {
  const warnings = (agentId: string, agents: object) =>
    warningsOf(JSON.stringify({ agents, hooks: { mappings: [{ ...path, agentId }] } }))

  it('causes a warning if no agent has it', () => {
    expect(warnings('suport', { main: {}, support: {} })).toEqual([
      'hooks.mappings[0].agentId names no configured agent, so the default agent "main" is used; did you mean ' +
        '"support"?',
    ])
    expect(warnings('defaults', {})).toEqual([expect.stringContaining('add agents.defaults, or leave it out')])
    expect(warnings('main', { ops: {} })).toEqual([expect.stringContaining('the default agent "ops" is used')])
  })

  it('ignores case and surrounding spaces', () => {
    expect(warnings(' Support ', { main: {}, support: {} })).toEqual([])
    expect(warnings('MAIN', {})).toEqual([])
  })
})

describe('recipients of replies', () => {
  const silent = { channels: { pager: { key: 'a-key' } } }
  const receiving = { channels: { pager: { key: 'a-key', allowFrom: ['ada'] } } }
  const preset = { channels: { pager: { key: 'a-key', defaultTo: '1', accounts: { eu: {} } } } }
  const warnings = (keys: object, rest: object) =>
    warningsOf(JSON.stringify({ ...rest, hooks: { mappings: [{ ...path, deliver: true, ...keys }] } }))
  const nobody = 'hooks.mappings[0] sends replies to "last", but on no channel may anybody write to the main session'

  it.each([
    [
      'a channel that no plugin brings',
      { channel: 'slack', to: '#x' },
      receiving,
      'hooks.mappings[0].channel is "slack", which no loaded plugin provides',
    ],
    [
      'a channel that is not configured',
      { channel: 'pager', to: '1' },
      {},
      'hooks.mappings[0].channel is "pager", which is not configured',
    ],
    [
      'a channel that is off',
      { channel: 'pager', to: '1' },
      { channels: { pager: { enabled: false } } },
      '.channel is "pager", which is not configured',
    ],
    [
      'nobody on the channel',
      { channel: 'pager' },
      silent,
      'hooks.mappings[0].channel is "pager", where replies have no recipient',
    ],
    [
      'an account that is not there',
      { channel: 'pager', accountId: 'us' },
      preset,
      'hooks.mappings[0].accountId is not an account of channels.pager',
    ],
    ['no channel, where nobody can write', {}, silent, nobody],
    ['last, where nobody can write', { channel: 'last' }, silent, nobody],
  ])('cause a warning: %s', (...[, keys, rest, warning]) => {
    expect(warnings(keys, rest)).toEqual([expect.stringContaining(warning)])
  })

  it.each([
    ['there is a recipient', { channel: 'pager', to: '{{ to }}' }, silent],
    ['the channel has one', { channel: 'pager' }, preset],
    ['somebody may write', { channel: 'pager' }, receiving],
    ['last may lead there', {}, receiving],
    ['nothing is delivered', { channel: 'slack', deliver: false }, silent],
    ['it is a wake', { action: 'wake', textTemplate: 't' }, silent],
    ['a transform may name the channel', { transform: { module: 'a.ts' } }, silent],
  ])('is fine where %s', (_case, keys, rest) => {
    expect(warnings(keys, rest)).toEqual([])
  })

  it.each([
    [
      'the defaults',
      { defaults: { heartbeat: { target: 'last' } } },
      silent,
      'agents.defaults.heartbeat.target sends replies to "last"',
    ],
    [
      'one agent',
      { a: {}, b: { heartbeat: { target: 'pager' } } },
      silent,
      'agents.b.heartbeat.target is "pager", where replies have no recipient',
    ],
    [
      'an agent without a heartbeat',
      { a: { heartbeat: { target: 'none' } }, b: {}, defaults: { heartbeat: { target: 'last' } } },
      silent,
      undefined,
    ],
    ['a recipient', { defaults: { heartbeat: { target: 'pager', to: '1' } } }, silent, undefined],
  ])('cause a warning for heartbeats: %s', (...[, agents, rest, warning]) => {
    expect(warningsOf(JSON.stringify({ ...rest, agents }))).toEqual(
      warning === undefined ? [] : [expect.stringContaining(warning)],
    )
  })
})

describe('the location of transforms', () => {
  const module = (name: string) => problemsOf(mapping({ ...path, transform: { module: name } }))

  it.each(['../a.ts', '/etc/a.ts', 'a/../../b.ts', 'file:///a.ts', '~/a.ts', 'C:\\a.ts'])(
    'a module may not be at %s',
    (name) => {
      expect(module(name)).toEqual([
        expect.stringMatching(/hooks\.mappings\[0\]\.transform\.module cannot be used: .*must be a relative path/),
      ])
    },
  )

  it('a module may be missing, but must not be a link to the outside', () => {
    const file = write(mapping({ ...path, transform: { module: 'a.ts' } }))
    expect(resolveConfig(readConfigFile(file, {}), extensions).warnings).toEqual([])
    mkdirSync(join(dirname(file), 'transforms'))
    writeFileSync(join(dirname(file), 'a.ts'), '')
    symlinkSync(join(dirname(file), 'a.ts'), join(dirname(file), 'transforms', 'a.ts'))
    expect(() => resolveConfig(readConfigFile(file, {}), extensions)).toThrow(
      /module cannot be used: "a\.ts" resolves to .*a\.ts, which is outside .*transforms/,
    )
  })

  it.each(['..', '.', '/tmp', 'transforms/../..', 'elsewhere'])(
    'hooks.transformsDir may not be %s',
    (transformsDir) => {
      expect(problemsOf(hooks({ transformsDir }))).toEqual([
        expect.stringMatching(/hooks\.transformsDir resolves to .*, which is outside .*transforms/),
      ])
    },
  )

  it('hooks.transformsDir may be a folder inside and becomes absolute', () => {
    const { config, dir } = resolveText(hooks({ transformsDir: 'transforms/ours' }))
    expect(config.hooks.transformsDir).toBe(join(dir, 'transforms', 'ours'))
  })
})

describe('hooks.presets', () => {
  const quiet = { messageTemplate: 'm', deliver: false }
  const forge = definePreset({
    name: 'forge',
    description: 'A forge.',
    payload: Type.Object({}),
    mapping: quiet,
    auth: { scheme: 'hmac', header: 'x-forge' },
  })
  const crooked = definePreset({
    name: 'crooked',
    description: 'Crooked.',
    payload: Type.Object({}),
    // JavaScript knows no types.
    mapping: { colour: 'red' } as object,
  })
  const Settings = Type.Object({ team: Type.String(), noisy: Type.Boolean({ default: false }) })
  const choosy = definePreset({
    name: 'choosy',
    description: 'Choosy.',
    payload: Type.Object({}),
    mapping: quiet,
    config: Settings,
  })
  const presets = new Map([forge, crooked, choosy].map((preset) => [preset.name, preset]))
  const resolved = (keys: object) => resolveConfig(readConfigFile(write(hooks(keys)), {}), { ...extensions, presets })
  const warnings = (keys: object) => resolved(keys).warnings.map(({ path: key, problem }) => `${key} ${problem}`)

  it('must be known', () => {
    expect(() => resolved({ presets: ['forg'] })).toThrow(
      'hooks.presets[0] is not a known preset; did you mean "forge"?',
    )
  })

  it('are merged with their sections, whose auth must be complete', () => {
    expect(warnings({ presets: ['forge'], forge: { auth: { secret: 's' }, agentId: 'main' } })).toEqual([])
    expect(() => resolved({ presets: ['forge'], forge: { auth: {} } })).toThrow('hooks.forge.auth.secret is required')
    expect(() => resolved({ presets: ['forge'], forge: { agnetId: 'x' } })).toThrow(
      'hooks.forge.agnetId is not a known key; did you mean "agentId"?',
    )
  })

  it('have their own settings in their sections', () => {
    expect(warnings({ presets: ['choosy'], choosy: { team: 'blue', agentId: 'main' } })).toEqual([])
    expect(() => resolved({ presets: ['choosy'] })).toThrow('hooks.choosy.team is required')
    expect(() => resolved({ presets: ['choosy'], choosy: { team: 'blue', nosy: true } })).toThrow(
      'did you mean "noisy"?',
    )
    expect(warnings({})).toEqual([])
  })

  it('cause a warning if replies cannot be delivered or a mapping matches all requests', () => {
    const signed = { presets: ['forge'], forge: { auth: { secret: 's' }, deliver: true } }
    expect(warnings(signed)).toEqual([expect.stringContaining('hooks.presets[0] sends replies to "last"')])
    expect(warnings({ ...signed, forge: { ...signed.forge, channel: 'slack' } })).toEqual([
      expect.stringContaining('hooks.forge.channel is "slack"'),
    ])
    expect(warnings({ presets: ['choosy'], choosy: { team: 'blue', agentId: 'ops' } })).toEqual([
      expect.stringContaining('hooks.choosy.agentId names no'),
    ])
    expect(
      warnings({ presets: ['choosy'], choosy: { team: 'blue' }, mappings: [{ ...path, match: { path: 'choosy' } }] }),
    ).toEqual([
      expect.stringContaining(
        'hooks.presets[0] is never reached, because hooks.mappings[0] matches all of its requests',
      ),
    ])
  })

  it('cause a warning without auth, and for unused sections', () => {
    expect(warnings({ presets: ['forge'] })).toEqual([expect.stringContaining('has no hooks.forge.auth')])
    expect(warnings({ forge: { auth: { secret: 's' } } })).toEqual([
      expect.stringContaining('hooks.forge has no effect'),
    ])
  })
})
