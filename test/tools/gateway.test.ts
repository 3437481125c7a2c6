// The gateway tool: what it shows and may change, and that it never reveals a secret.
import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gatewayToken, hookToken } from '../helpers.ts'
import { share } from '../share.ts'
import { refused, startTools } from './calls.ts'

const lifted = { port: 0, auth: { token: gatewayToken }, tools: { allow: ['gateway'] } }
const start = (changes: object = {}) => startTools({ gateway: lifted, ...changes })
const canary = 'canary-of-a-provider-0123456789'
const providers = { house: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1', apiKey: canary } }

/** For tests that change nothing. */
const unchanged = share(start)
const secured = share(() =>
  start({
    providers,
    agents: { defaults: { heartbeat: { every: 0 } }, main: { tools: { deny: ['exec'] } } },
    tools: { deny: ['cron'] },
    session: { scope: 'per-agent', historyTurns: 9 },
  }),
)

describe('gateway status', () => {
  it('returns the state of the gateway', async () => {
    const { result } = unchanged()
    await expect
      .poll(() => result('gateway', { action: 'status' }))
      .toMatchObject({
        queuedRuns: 0,
        agents: ['main'],
        channels: expect.arrayContaining([{ channel: 'chat-native', accountId: 'default', connected: true }]),
      })
  })

  it('returns the times of the start and of the last reload', async () => {
    const { result, gateway } = await start()
    const before = await result('gateway', { action: 'status' })
    expect(before).not.toHaveProperty('reloadedAt')
    await gateway.reload()
    const after = await result('gateway', { action: 'status' })
    expect(after.startedAt).toBe(before.startedAt)
    expect(Date.parse(after.reloadedAt)).toBeGreaterThan(Date.parse(before.startedAt))
  })

  it('is denied by default over HTTP, to webhook runs and to subagents', async () => {
    const { call, hook, askAgent } = await startTools()
    expect((await call('gateway', { action: 'status' })).status).toBe(404)
    expect(await askAgent('/gateway {"action":"status"}')).toContain('queuedRuns')
    expect((await hook('/gateway {"action":"status"}')).body.reply).not.toContain('queuedRuns')
    expect((await unchanged().call('gateway', { action: 'status' }, 'agent:main:subagent:1')).status).toBe(404)
  })
})

describe('gateway config.get', () => {
  it('returns the configuration without secrets', async () => {
    const { result } = secured()
    const whole = await result('gateway', { action: 'config.get' })
    expect(whole.config.providers.house.apiKey).toBe('[redacted]')
    for (const secret of [canary, gatewayToken, hookToken]) expect(JSON.stringify(whole)).not.toContain(secret)
    expect(await result('gateway', { action: 'config.get', path: 'agents.defaults.timeoutSeconds' })).toEqual({
      config: 600,
    })
  })

  it.each(['agents.nobody', '__proto__', 'agents.constructor'])('returns nothing at %s', async (path) => {
    const { call } = unchanged()
    expect(await call('gateway', { action: 'config.get', path })).toMatchObject(
      refused('path is not in the configuration.'),
    )
  })
})

describe('gateway config.patch', () => {
  const patch = (changes: object) => ({ action: 'config.patch', patch: changes })

  it('changes the file and keeps its comments and its secrets', async () => {
    const { result, dir } = await start({ providers })
    const file = join(dir, 'gateway.json5')
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace('"agents": {', '// The agents.\n  "agents": { // all of them\n'),
    )
    chmodSync(file, 0o600)
    const changed = await result(
      'gateway',
      patch({ agents: { defaults: { timeoutSeconds: 90, heartbeat: { every: '1h' } } }, session: { historyTurns: 7 } }),
    )
    expect(changed).toEqual({
      changed: ['agents.defaults.heartbeat.every', 'agents.defaults.timeoutSeconds', 'session.historyTurns'],
    })
    const text = readFileSync(file, 'utf8')
    for (const part of [
      '// The agents.',
      '// all of them',
      canary,
      gatewayToken,
      hookToken,
      'timeoutSeconds: 90',
      `"1h"`.replaceAll('"', "'"),
    ])
      expect(text).toContain(part)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(
      await result('gateway', patch({ agents: { defaults: { timeoutSeconds: null } }, session: null })),
    ).toMatchObject({
      changed: expect.arrayContaining(['session.historyTurns']),
    })
    expect(readFileSync(file, 'utf8')).not.toMatch(/timeoutSeconds|historyTurns/)
  })

  it.each([
    [{ agents: { defaults: { timeoutSeconds: 'long' } } }, /timeoutSeconds must be a number/],
    [
      { agents: { defaults: { timeoutSecond: 5 } } },
      /agents.defaults.timeoutSecond cannot be changed by an agent; it may change .*timeoutSeconds/,
    ],
    [{ nonsense: { a: 1 } }, /nonsense.*cannot be changed/],
    [{ session: { historyTurns: -1 } }, /session.historyTurns must be/],
  ])('rejects an invalid change: %o', async (changes, sentence) => {
    const { call, dir } = unchanged()
    const before = readFileSync(join(dir, 'gateway.json5'), 'utf8')
    expect(await call('gateway', patch(changes))).toMatchObject(refused(expect.stringMatching(sentence)))
    expect(readFileSync(join(dir, 'gateway.json5'), 'utf8')).toBe(before)
  })

  it.each<object>([
    { gateway: { auth: { token: 'mine' } } },
    { gateway: { auth: null } },
    { gateway: null },
    { gateway: 5 },
    { gateway: { bind: '0.0.0.0' } },
    { gateway: { tools: { allow: ['sessions_spawn'] } } },
    { hooks: { token: null } },
    { hooks: { allowRequestSessionKey: true } },
    { tools: { allow: ['*'] } },
    { tools: null },
    { plugins: ['./evil.mjs'] },
    { providers: { house: { baseUrl: 'http://evil.test/' } } },
    { providers: { house: null } },
    { providers: { house: { apiKey: '[redacted]' } } },
    { storage: { url: 'sqlite:/tmp/x.db' } },
    { storage: { retention: { days: 1 } } },
    { channels: { 'chat-native': { allowFrom: ['*', 'eve'] } } },
    { channels: { 'chat-native': { url: 'http://evil.test/' } } },
    { channels: { console: { file: '/etc/cron.d/x' } } },
    { channels: null },
    { agents: null },
    { agents: { main: null } },
    { agents: { main: { tools: null } } },
    { agents: { main: { tools: { deny: [] } } } },
    { agents: { main: { workspace: '/' } } },
    { agents: { defaults: { workspace: '/' } } },
    { agents: { other: { default: true } } },
    { agents: { other: { name: 'Other' } } },
    { session: { scope: 'global' } },
    { session: { mainKey: 'other' } },
    { session: null },
    { log: { level: 'silent' } },
    { log: { pretty: true } },
    { channels: { 'chat-native': { enabled: false } } },
    { channels: { 'chat-native': { defaultTo: 'eve' } } },
    { hooks: { onFailure: { channel: 'console', to: 'eve' } } },
    { hooks: { enabled: false } },
    { agents: { defaults: { systemPrompt: 'Obey.' } } },
    { agents: { main: { name: 'main. Obey.' } } },
    { agents: { main: { models: ['house/m'] } } },
    { agents: { defaults: { maxAttempts: 99 } } },
    { agents: { defaults: { heartbeat: { target: 'chat-native' } } } },
    { agents: { main: { heartbeat: { to: 'eve' } } } },
    { agents: { defaults: { heartbeat: { prompt: 'Obey.' } } } },
    { agents: { defaults: { heartbeat: { ackMaxChars: 100_000 } } } },
    { __proto__: null, constructor: { prototype: 1 } },
  ])('cannot change security settings or secrets: %j', async (changes) => {
    const { call, dir } = secured()
    const before = readFileSync(join(dir, 'gateway.json5'), 'utf8')
    expect(await call('gateway', patch(changes))).toMatchObject(
      refused(expect.stringMatching(/cannot be changed by an agent/)),
    )
    expect(readFileSync(join(dir, 'gateway.json5'), 'utf8')).toBe(before)
  })

  it('cannot add or remove agents, because another default agent may have more tools', async () => {
    const agents = {
      defaults: { heartbeat: { every: 0 } },
      first: { timeoutSeconds: 60 },
      second: { timeoutSeconds: 90 },
    }
    const { call, dir } = await start({ agents })
    for (const changes of [{ agents: { first: null } }, { agents: { second: null } }, { agents: { first: 5 } }]) {
      const before = readFileSync(join(dir, 'gateway.json5'), 'utf8')
      expect(await call('gateway', patch(changes))).toMatchObject(
        refused(expect.stringMatching(/cannot be changed by an agent|invalid/)),
      )
      expect(readFileSync(join(dir, 'gateway.json5'), 'utf8')).toBe(before)
    }
  })

  it.each([
    ['of everybody', { tools: { byProvider: { builtin: { deny: ['exec'] } } } }],
    ['of one agent', { agents: { main: { tools: { byProvider: { builtin: { deny: ['exec'] } } } } } }],
  ])('cannot change a model if the policy %s depends on the provider', async (_whose, policy) => {
    const agents = { defaults: { heartbeat: { every: 0 } }, main: {} }
    const document = { providers, ...policy, agents: { ...agents, ...('agents' in policy ? policy.agents : {}) } }
    const { call } = await start(document)
    for (const changes of [
      { defaults: { model: 'house/m' } },
      { main: { model: 'house/m' } },
      { defaults: { heartbeat: { model: 'house/m' } } },
    ]) {
      const answer = await call('gateway', patch({ agents: changes }))
      expect(answer).toMatchObject(refused(expect.stringMatching(/model cannot be changed by an agent; .*byProvider/)))
    }
  })

  it('can change a model if no policy depends on the provider', async () => {
    const agents = { defaults: { heartbeat: { every: 0 } }, main: {} }
    const { result } = await start({ providers, agents })
    expect(await result('gateway', patch({ agents: { main: { model: 'house/m' } } }))).toEqual({
      changed: ['agents.main.model'],
    })
  })

  it('cannot read environment variables through the file', async () => {
    const { call } = unchanged()
    const answer = await call('gateway', patch({ agents: { defaults: { systemPrompt: 'Say ${PATH}' } } }))
    expect(answer).toMatchObject(refused(expect.stringContaining('must not contain "${"')))
  })
})
