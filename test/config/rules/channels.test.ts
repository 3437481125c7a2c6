// The rules of channels: agents of accounts and groups, and who may write.
import { describe, expect, it } from 'vitest'
import type { Document } from '../../helpers.ts'
import { problemsOf, resolveText, warningsOf } from '../document.ts'

const withPager = (pager: object, rest: object = {}) =>
  JSON.stringify({ channels: { pager: { key: 'a-key', ...pager } }, ...rest })

describe('agentId', () => {
  const agents = { agents: { main: {}, support: {} } }

  it.each([
    [{ agentId: 'suport' }, 'channels.pager.agentId is not an agent; did you mean "support"?'],
    [
      { groups: { ops: { agentId: 'x' } } },
      'channels.pager.groups.ops.agentId is not an agent; use one of main, support',
    ],
    [{ accounts: { eu: { agentId: 'x' } } }, 'channels.pager.accounts.eu.agentId is not an agent'],
    [{ accounts: { eu: { groups: { '*': { agentId: 'x' } } } } }, 'channels.pager.accounts.eu.groups.*.agentId is not'],
  ])('must be a configured agent: %j', (keys, problem) => {
    expect(problemsOf(withPager(keys, agents))).toEqual([expect.stringContaining(problem)])
  })

  it('may be any configured agent, in any case', () => {
    const groups = { ops: { agentId: 'main' } }
    expect(warningsOf(withPager({ agentId: ' Support ', groups }, agents))).toEqual([])
    expect(warningsOf(withPager({ agentId: 'main' }))).toEqual([])
  })
})

it('rejects unknown values of the keys that all channels have', () => {
  const keys = { dmPolicy: 'closed', directSession: 'own', groups: { a: { requireMention: 'no' } } }
  expect(problemsOf(withPager(keys))).toEqual([
    expect.stringContaining('dmPolicy must be one of "allowlist", "pairing", "open"'),
    expect.stringContaining('directSession must be one of "main", "sender", "shared"'),
    expect.stringContaining('groups.a.requireMention must be true or false'),
  ])
})

it.each([
  ['an account lists senders', { accounts: { eu: { allowFrom: ['1'] } } }],
  ['senders can be approved', { dmPolicy: 'pairing' }],
  ['strangers are let in beside a sender', { dmPolicy: 'open', allowFrom: ['1'] }],
  ['strangers share the main session', { dmPolicy: 'open', directSession: 'shared' }],
])('does not warn that "last" leads nowhere if %s', (_, keys) => {
  const mapping = { match: { path: 'a' }, messageTemplate: 'x', deliver: true }
  const warnings = warningsOf(withPager(keys, { hooks: { mappings: [mapping] } }))
  expect(warnings.filter((warning) => warning.includes('"last", but'))).toEqual([])
})

it.each([
  ['senders have sessions of their own', { allowFrom: ['1'], directSession: 'sender' }],
  ['only strangers write', { dmPolicy: 'open' }],
  ['everybody may write, and nobody is listed', { allowFrom: ['*'] }],
])('warns that "last" leads nowhere if %s', (_, keys) => {
  const mapping = { match: { path: 'a' }, messageTemplate: 'x', deliver: true }
  const warnings = warningsOf(withPager(keys, { hooks: { mappings: [mapping] } }))
  expect(warnings).toContainEqual(expect.stringContaining('hooks.mappings[0] sends replies to "last", but'))
})

describe('strangers', () => {
  const tools = { deny: ['exec'] }
  it.each<[string, Document, string[]]>([
    ['direct messages are open', { dmPolicy: 'open' }, ['dmPolicy lets strangers write']],
    ['everybody is listed', { allowFrom: ['1', ' * '] }, ['allowFrom lets strangers write']],
    [
      'one of the accounts lets them in',
      { allowFrom: ['1'], accounts: { eu: { dmPolicy: 'open' }, us: {} } },
      ['accounts.eu.dmPolicy lets strangers write'],
    ],
    [
      'they share the main session',
      { dmPolicy: 'open', directSession: 'shared' },
      ['directSession is "shared", and strangers may write'],
    ],
    [
      'they may use all tools in a listed group',
      { allowFrom: ['*'], groups: { ops: {}, lobby: { allow: false }, help: { tools }, '*': {} } },
      ['allowFrom lets strangers write', 'groups lists "ops", where strangers may use every tool'],
    ],
  ])('are warned about if %s', (_, keys, expected) => {
    expect(warningsOf(withPager(keys))).toEqual(
      expected.map((text) => expect.stringContaining(`channels.pager.${text}`)),
    )
  })

  it('are warned about if tools are allowed to the webhooks of their agent', () => {
    const own = { tools: { byOrigin: { hook: { allow: ['exec'] } } } }
    const rest = {
      ...own,
      agents: { main: {}, deployer: own, support: { tools: { byOrigin: { hook: { allow: [] } } } } },
    }
    const accounts = { a: {}, b: { agentId: 'Deployer' }, c: { agentId: 'support' } }
    const warnings = warningsOf(withPager({ dmPolicy: 'open', accounts }, rest))
    expect(warnings.filter((warning) => warning.includes('without the rule of two'))).toEqual([
      expect.stringContaining('channels.pager.dmPolicy lets strangers use the tools in tools.byOrigin.hook.allow'),
      expect.stringContaining('channels.pager.dmPolicy lets strangers use the tools in agents.deployer.tools.byOrigin'),
    ])
  })

  it.each([
    ['senders are listed', { allowFrom: ['1'], directSession: 'shared' }],
    ['senders must be approved', { dmPolicy: 'pairing', directSession: 'shared' }],
    ['the channel is off', { enabled: false, dmPolicy: 'open' }],
  ])('are not warned about if %s', (_, keys) => {
    expect(warningsOf(withPager(keys))).toEqual([])
  })
})

describe('the ids of senders and groups', () => {
  it('that no message can have are warned about, where they are written', () => {
    const keys = { allowFrom: ['1', '@ann'], groups: { ops: {}, '#ops': {}, '*': {} } }
    expect(warningsOf(withPager({ ...keys, accounts: { eu: { allowFrom: ['@bob'] }, us: {} } }))).toEqual([
      expect.stringContaining('channels.pager.allowFrom[1] matches no sender of the channel; use a number'),
      expect.stringContaining('channels.pager.groups.#ops matches no group of the channel; use the name of a group'),
      expect.stringContaining('channels.pager.accounts.eu.allowFrom[0] matches no sender of the channel'),
    ])
  })

  it('are rewritten to the form that messages have', () => {
    const account = { allowFrom: [' no. 7 ', '*'], groups: { 'no. ops': { allow: false } } }
    const { config } = resolveText(withPager({ ...account, accounts: { eu: account } }))
    const normal = { allowFrom: ['7', '*'], groups: { ops: { allow: false } } }
    expect(config.channels['pager']).toMatchObject({ ...normal, accounts: { eu: normal } })
  })

  it('may not name one group twice, since only one entry could apply', () => {
    expect(problemsOf(withPager({ groups: { ops: {}, 'no. Ops': { allow: false } } }))).toEqual([
      expect.stringContaining('channels.pager.groups.no. Ops is the same group as ops; keep one of the two'),
    ])
  })
})
