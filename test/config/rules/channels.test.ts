// The rules of channels: agents of accounts and groups, and who may write.
import { describe, expect, it } from 'vitest'
import { problemsOf, warningsOf } from '../document.ts'

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
    expect.stringContaining('directSession must be one of "main", "sender"'),
    expect.stringContaining('groups.a.requireMention must be true or false'),
  ])
})

it.each([
  ['an account lists senders', { accounts: { eu: { allowFrom: ['1'] } } }],
  ['senders can be approved', { dmPolicy: 'pairing' }],
  ['direct messages are open', { dmPolicy: 'open' }],
])('does not warn that "last" leads nowhere if %s', (_, keys) => {
  const mapping = { match: { path: 'a' }, messageTemplate: 'x', deliver: true }
  expect(warningsOf(withPager(keys, { hooks: { mappings: [mapping] } }))).toEqual([])
})
