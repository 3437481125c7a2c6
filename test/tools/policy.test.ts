// The tool policy of a whole configuration: which lists apply to whom, its explanations, and its warnings.
import { describe, expect, it } from 'vitest'
import type { Config } from '../../core/config/schema/schema.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import { defineToolset, type Tool } from '../../core/plugin/plugin.ts'
import { openToolRegistry } from '../../core/tools/registry.ts'
import { findUndeclaredNames } from '../../core/tools/unmatched-names.ts'
import type { Verdict } from '../../core/tools/evaluate.ts'
import { createPolicy } from '../../core/tools/policy.ts'
import type { Subject } from '../../core/tools/subject.ts'
import { createTestContext } from '../contracts/context.ts'
import type { Document } from '../helpers.ts'
import { openPolicy, plain, plainTools, type Toolsets } from './tool-routes.ts'

const turn: Subject = { caller: 'agent', agentId: 'main', sessionKey: 'agent:main:main' }

const toolsets: Toolsets = {
  files: [plain('read', { group: 'fs' }), plain('write', { group: 'fs' })],
  shell: [plain('exec', { group: 'runtime' })],
  sessions: plainTools(
    'session_status',
    'sessions_list',
    'sessions_spawn',
    'sessions_send',
    'sessions_history',
    'agents_list',
  ),
  other: plainTools('cron', 'gateway', 'whatsapp_login', 'message', 'web_fetch', 'edit'),
  foreign: [plain('roll_dice', { group: 'games' }), plain('flip_coin', { group: 'games' })],
}
const all = Object.values(toolsets).flatMap((tools) => tools.map(({ name }) => name))

/** The names of the tools that the configuration allows a subject. */
async function allowedTools(changes: Document, subject: Partial<Subject> = {}): Promise<string[]> {
  const { policy } = await openPolicy(toolsets, changes)
  const asked = { ...turn, ...subject }
  const listed = policy.listed(asked).map(({ tool }) => tool.name)
  expect(all.filter((tool) => policy.judge(asked, tool).verdict !== 'deny').toSorted()).toEqual(listed)
  expect(all.filter((tool) => policy.explain(asked, tool).allowed).toSorted()).toEqual(listed)
  return listed
}

const without = (...names: readonly string[]) => all.filter((name) => !names.includes(name)).toSorted()

describe('the lists of tools', () => {
  it('restrict nothing when they are absent, and everything when they are empty', async () => {
    expect(await allowedTools({})).toEqual(without())
    expect(await allowedTools({ tools: { allow: [] } })).toEqual([])
    expect(await allowedTools({ tools: { deny: [] } })).toEqual(without())
  })

  it('accept groups, toolsets, patterns and any case; deny takes precedence', async () => {
    expect(await allowedTools({ tools: { allow: ['group:fs', 'SHELL', 'roll_*'], deny: ['Write'] } })).toEqual([
      'edit',
      'exec',
      'read',
      'roll_dice',
    ])
    expect(await allowedTools({ tools: { deny: ['*'], allow: ['*'] } })).toEqual([])
    expect(await allowedTools({ tools: { deny: ['group:plugins'] } })).toEqual(without('roll_dice', 'flip_coin'))
    expect(await allowedTools({ tools: { allow: ['group:games'] } })).toEqual(['flip_coin', 'roll_dice'])
  })

  it('of an agent narrow the shared lists, and never widen them', async () => {
    const changes = {
      tools: { allow: ['read', 'exec'] },
      agents: { main: { tools: { allow: ['read', 'cron'] } }, other: {} },
    }
    expect(await allowedTools(changes)).toEqual(['read'])
    expect(await allowedTools(changes, { agentId: 'other' })).toEqual(['exec', 'read'])
  })
})

describe('profiles', () => {
  it.each([
    ['minimal', ['session_status']],
    ['messaging', ['message', 'session_status', 'sessions_history', 'sessions_list', 'sessions_send']],
    ['coding', without('gateway', 'whatsapp_login', 'message', 'roll_dice', 'flip_coin')],
    ['full', without()],
  ])('%s', async (profile, tools) => {
    expect(await allowedTools({ tools: { profile } })).toEqual(tools)
  })

  it('are extended by alsoAllow, which has no effect without a profile', async () => {
    expect(await allowedTools({ tools: { profile: 'minimal', alsoAllow: ['group:games'] } })).toEqual([
      'flip_coin',
      'roll_dice',
      'session_status',
    ])
    expect(await allowedTools({ tools: { alsoAllow: ['read'] } })).toEqual(without())
  })

  it('of an agent replace the shared profile and its alsoAllow; its alsoAllow alone extends it', async () => {
    const tools = { profile: 'minimal', alsoAllow: ['read'] }
    expect(await allowedTools({ tools, agents: { main: { tools: { profile: 'messaging' } } } })).not.toContain('read')
    expect(
      await allowedTools({ tools, agents: { main: { tools: { profile: 'minimal', alsoAllow: ['cron'] } } } }),
    ).toEqual(['cron', 'session_status'])
    expect(await allowedTools({ tools, agents: { main: { tools: { alsoAllow: ['cron'] } } } })).toEqual([
      'cron',
      'read',
      'session_status',
    ])
    expect(await allowedTools({ tools, agents: { main: { tools: { profile: 'full' } } } })).toEqual(without())
  })
})

describe('the lists of providers and models', () => {
  const tools = {
    byProvider: {
      test: { deny: ['exec'] },
      'TEST/Small': { profile: 'minimal', alsoAllow: ['exec'] },
      'other/vendor/big': { allow: ['read'] },
    },
  }

  it('apply to the model of the turn; an entry for a model precedes one for its provider', async () => {
    expect(await allowedTools({ tools })).toEqual(without('exec'))
    expect(await allowedTools({ tools }, { model: 'test/large' })).toEqual(without('exec'))
    expect(await allowedTools({ tools }, { model: 'test/small' })).toEqual(['exec', 'session_status'])
    expect(await allowedTools({ tools }, { model: 'other/vendor/big' })).toEqual(['read'])
    expect(await allowedTools({ tools }, { model: 'other/vendor' })).toEqual(without())
  })

  it('of an agent narrow further, and its profile replaces the shared one', async () => {
    const byProvider = { test: { deny: ['cron'] }, 'test/small': { profile: 'messaging' } }
    const agents = { main: { tools: { byProvider } } }
    expect(await allowedTools({ tools, agents })).toEqual(without('exec', 'cron'))
    expect(await allowedTools({ tools, agents }, { model: 'test/small' })).toContain('message')
    expect(await allowedTools({ tools, agents }, { model: 'test/small' })).not.toContain('exec')
  })
})

describe('the lists of groups', () => {
  const channels = {
    console: {
      groups: {
        C42: { tools: { deny: ['exec'] } },
        '19:abc': { tools: { allow: ['read'] } },
        '19': { tools: { allow: ['write'] } },
        '*': { tools: { allow: ['cron'] } },
      },
      accounts: { default: {}, work: { groups: { c42: { tools: { allow: ['message'] } } } } },
    },
  }
  const inGroup = (sessionKey: string, rest: Partial<Subject> = {}) =>
    allowedTools({ channels }, { sessionKey, ...rest })

  it.each([
    ['agent:main:console:group:c42', without('exec')],
    ['agent:main:console:channel:c42:thread:7', without('exec')],
    ['agent:main:console:group:c4', ['cron']],
    ['agent:main:console:group:19:abc', ['read']],
    ['agent:main:console:group:19:abc:topic:1', ['read']],
    ['agent:main:console:group:19:abd', ['write']],
    ['agent:main:subagent:1:console:group:19', ['write']],
    ['agent:main:hook:console:group:c42', without('exec')],
    ['agent:main:elsewhere:group:c42', without()],
    ['agent:main:constructor:group:constructor', without()],
    ['agent:main:console:group:constructor', ['cron']],
    ['agent:main:main', without()],
    ['agent:group:group:c42', without()],
  ])('apply in %s', async (sessionKey, tools) => {
    expect(await inGroup(sessionKey)).toEqual(tools)
  })

  it('apply to the channel and the account that the caller names', async () => {
    expect(await inGroup('agent:main:console:group:c42', { accountId: 'Work' })).toEqual(['message'])
    expect(await inGroup('agent:main:console:group:c7', { accountId: 'work' })).toEqual(without())
    expect(await inGroup('agent:main:console:group:c42', { accountId: 'nobody' })).toEqual(without('exec'))
    expect(await inGroup('agent:main:chat:group:c42', { channel: 'Console' })).toEqual(without('exec'))
    expect(await inGroup('agent:main:console:group:c42', { channel: '__proto__', accountId: '__proto__' })).toEqual(
      without(),
    )
    expect(await inGroup('agent:main:main', { channel: 'console' })).toEqual(without())
  })
})

describe('subagents', () => {
  const sessionKey = 'agent:main:subagent:1'
  const deniedByDefault = [
    'gateway',
    'agents_list',
    'whatsapp_login',
    'session_status',
    'cron',
    'sessions_send',
    'sessions_spawn',
    'sessions_list',
    'sessions_history',
  ]
  const allowedWith = (tools: object, rest: Document = {}) =>
    allowedTools({ tools: { subagents: { tools } }, ...rest }, { sessionKey })

  it('may not use tools that control other sessions by default', async () => {
    expect(await allowedTools({}, { sessionKey })).toEqual(without(...deniedByDefault))
    expect(await allowedWith({ deny: ['exec'] })).toEqual(without(...deniedByDefault, 'exec'))
  })

  it('may use exactly what their own allow list names', async () => {
    expect(await allowedWith({ allow: ['read', 'group:sessions'], deny: ['sessions_spawn'] })).toEqual(
      ['read', 'session_status', 'sessions_list', 'sessions_send', 'sessions_history', 'agents_list'].toSorted(),
    )
    expect(await allowedWith({ allow: ['*'] })).toEqual(without())
    expect(await allowedWith({ allow: [] })).toEqual([])
  })

  it('never get more than the layers before allow', async () => {
    expect(
      await allowedTools(
        { tools: { deny: ['cron'], subagents: { tools: { allow: ['cron', 'read'] } } } },
        { sessionKey },
      ),
    ).toEqual(['read'])
  })
})

describe('webhook runs', () => {
  const deniedByDefault = ['exec', 'gateway', 'cron', 'write', 'edit', 'sessions_list', 'sessions_history']
  const allowedWith = (tools: object, agents = {}) =>
    allowedTools({ tools: { byOrigin: { hook: tools } }, agents }, { fromHook: true })

  it('may not use tools by default that do lasting harm or show other conversations', async () => {
    expect(await allowedTools({}, { fromHook: true })).toEqual(without(...deniedByDefault))
    expect(await allowedWith({ deny: ['read'] })).toEqual(without(...deniedByDefault, 'read'))
  })

  it('may use what their allow list names, an agent’s before the shared one; both deny lists apply', async () => {
    expect(await allowedWith({ allow: ['exec', 'read'] })).toEqual(['exec', 'read'])
    const own = (hook: object) => ({ main: { tools: { byOrigin: { hook } } } })
    expect(await allowedWith({ allow: ['read'] }, own({ allow: ['exec', 'write'] }))).toEqual(['exec', 'write'])
    expect(await allowedWith({ allow: ['read', 'exec'] }, own({ deny: ['exec'] }))).toEqual(['read'])
    expect(await allowedWith({ deny: ['exec'] }, own({ allow: ['exec', 'write'] }))).toEqual(['write'])
  })
})

describe('calls over HTTP', () => {
  const restricted = ['sessions_spawn', 'sessions_send', 'gateway', 'whatsapp_login']
  const overHttp = (tools: object, rest: Document = {}) =>
    allowedTools({ gateway: { tools }, ...rest }, { caller: 'http' })

  it('may use a restricted tool only if gateway.tools.allow names it', async () => {
    expect(await allowedTools({}, { caller: 'http' })).toEqual(without(...restricted))
    for (const [shape, lifted, denied] of shapes())
      expect([shape, await overHttp(shape)]).toEqual([
        shape,
        without(...restricted.filter((name) => !lifted.includes(name)), ...denied),
      ])
  })

  /** Every way to lift and to deny the four; `read` stands for any other tool. */
  function* shapes(): Iterable<[shape: object, lifted: string[], denied: string[]]> {
    const subsets = (names: readonly string[]) =>
      Array.from({ length: 2 ** names.length }, (_, bits) => names.filter((_name, index) => bits & (2 ** index)))
    for (const allow of subsets(restricted))
      for (const deny of subsets(['gateway', 'sessions_send', 'read'])) yield [{ allow, deny }, allow, deny]
    yield [{ allow: ['sessions'] }, [], []]
    yield [{ deny: ['files'] }, [], []]
    yield [{ allow: [' GATEWAY '], deny: ['Read'] }, ['gateway'], ['read']]
    yield [{ allow: [] }, [], []]
  }

  it('get from gateway.tools.allow no more than the other layers allow', async () => {
    expect(await overHttp({ allow: ['gateway'] }, { tools: { deny: ['gateway'] } })).not.toContain('gateway')
  })
})

describe('tools that a person must approve', () => {
  const judge = async (changes: Document, tool: string, subject: Partial<Subject> = {}) =>
    (await openPolicy(toolsets, changes)).policy.judge({ ...turn, ...subject }, tool)
  const hook = { fromHook: true }

  it('are named by name, group, toolset and pattern, and need not be allowed', async () => {
    for (const name of ['exec', 'EXEC', 'ex*', 'group:runtime'])
      expect(await judge({ tools: { allow: ['read'], ask: [name] } }, 'exec')).toEqual({
        verdict: 'ask',
        rule: `tools.ask: ${JSON.stringify(name)}`,
      })
    expect((await judge({ tools: { allow: ['read'], ask: ['exec'] } }, 'message')).verdict).toBe('deny')
    expect((await judge({ tools: { ask: ['exec'] } }, 'message')).verdict).toBe('allow')
  })

  it('are denied if any layer denies them, and asked for if any layer asks', async () => {
    expect((await judge({ tools: { ask: ['exec'], deny: ['exec'] } }, 'exec')).verdict).toBe('deny')
    expect((await judge({ tools: { ask: ['exec'], allow: ['exec'] } }, 'exec')).verdict).toBe('ask')
    const others = [
      { tools: { ask: ['exec'] }, agents: { main: { tools: { allow: ['exec'] } } } },
      { tools: { allow: ['exec'] }, agents: { main: { tools: { ask: ['exec'] } } } },
      { tools: { byProvider: { test: { ask: ['exec'] } } } },
    ]
    for (const changes of others) expect([changes, (await judge(changes, 'exec')).verdict]).toEqual([changes, 'ask'])
    expect(
      (await judge({ tools: { ask: ['exec'] }, agents: { main: { tools: { deny: ['exec'] } } } }, 'exec')).rule,
    ).toBe('agents.main.tools.deny: "exec"')
  })

  it('are permitted to webhooks, subagents and HTTP clients although they are denied by default', async () => {
    expect((await judge({}, 'exec', hook)).verdict).toBe('deny')
    expect(await judge({ tools: { byOrigin: { hook: { ask: ['exec'] } } } }, 'exec', hook)).toEqual({
      verdict: 'ask',
      rule: 'tools.byOrigin.hook.ask: "exec"',
    })
    expect((await judge({ tools: { byOrigin: { hook: { ask: ['exec'] } } } }, 'write', hook)).verdict).toBe('deny')
    const subagent = { sessionKey: 'agent:main:subagent:1' }
    expect((await judge({ tools: { subagents: { tools: { ask: ['cron'] } } } }, 'cron', subagent)).verdict).toBe('ask')
    const http = { caller: 'http' } as const
    expect((await judge({ gateway: { tools: { ask: ['gateway'] } } }, 'gateway', http)).verdict).toBe('ask')
    expect(
      (await judge({ gateway: { tools: { ask: ['gateway'], deny: ['gateway'] } } }, 'gateway', http)).verdict,
    ).toBe('deny')
  })

  it('are asked for if they are asked for in the session that started the run', async () => {
    const agents = {
      main: { default: true },
      helper: { tools: { ask: ['exec'] } },
      strict: { tools: { deny: ['exec'] } },
    }
    const initiator = (agentId: string) => ({ caller: 'agent', agentId, sessionKey: `agent:${agentId}:main` }) as const
    expect(await judge({ agents }, 'exec', { initiators: [initiator('helper')] })).toEqual({
      verdict: 'ask',
      rule: 'agents.helper.tools.ask: "exec"',
    })
    expect(await judge({ agents }, 'exec', { initiators: [initiator('helper'), initiator('strict')] })).toEqual({
      verdict: 'deny',
      rule: 'denied to the session that started the run',
    })
  })

  it('keep what the agent that started the run denies to webhooks', async () => {
    const agents = {
      helper: { tools: { byOrigin: { hook: { allow: ['exec'], beyondRuleOfTwo: 'ask' } } } },
      strict: { tools: { byOrigin: { hook: { deny: ['exec'] } } } },
    }
    const subject = (...initiators: string[]): Subject => ({
      caller: 'agent',
      agentId: 'helper',
      sessionKey: 'agent:helper:subagent:1',
      fromHook: true,
      initiators: initiators.map((id) => ({ caller: 'agent', agentId: id, sessionKey: `agent:${id}:hook:1` })),
    })
    const { policy } = await openPolicy(toolsets, { agents })
    expect(policy.judge(subject('helper'), 'exec').verdict).toBe('allow')
    expect(policy.judge(subject('helper', 'strict'), 'exec').verdict).toBe('deny')
    expect(policy.judge({ ...subject('helper', 'strict'), fromHook: false }, 'exec').verdict).toBe('allow')
    expect(policy.beyondRuleOfTwo(subject('helper'))).toBe('ask')
    expect(policy.beyondRuleOfTwo(subject('helper', 'strict'))).toBe('deny')
    expect(policy.beyondRuleOfTwo(subject('strict', 'helper'))).toBe('deny')
  })
})

describe('an explanation', () => {
  it('has the verdict of every layer, and the name and the list that decide', async () => {
    const { policy } = await openPolicy(toolsets, {
      tools: {
        profile: 'coding',
        alsoAllow: ['message'],
        deny: ['exec'],
        byProvider: { test: { allow: ['group:fs', 'exec'] } },
      },
      agents: { main: { tools: { allow: ['*'] } } },
    })
    const expected: Verdict[] = [
      { layer: 'profile', verdict: 'allow', rule: 'tools.profile "coding": "group:runtime"' },
      { layer: 'profile_by_provider', verdict: 'none' },
      { layer: 'tools', verdict: 'deny', rule: 'tools.deny: "exec"' },
      { layer: 'tools_by_provider', verdict: 'allow', rule: 'tools.byProvider.test.allow: "exec"' },
      { layer: 'agent', verdict: 'allow', rule: 'agents.main.tools.allow: "*"' },
      { layer: 'agent_by_provider', verdict: 'none' },
      { layer: 'group', verdict: 'none' },
      { layer: 'subagent', verdict: 'none' },
      { layer: 'origin', verdict: 'none' },
      { layer: 'http', verdict: 'none' },
      { layer: 'client', verdict: 'none' },
    ]
    expect(policy.explain(turn, 'exec')).toEqual({
      allowed: false,
      verdict: 'deny',
      rule: 'tools.deny: "exec"',
      layers: expected,
    })
    const rules = (tool: string, subject: Partial<Subject> = {}) =>
      policy
        .explain({ ...turn, ...subject }, tool)
        .layers.flatMap(({ verdict, rule }) => (verdict === 'deny' ? [rule] : []))
    expect(rules('roll_dice')).toEqual([
      'not in tools.profile "coding" or tools.alsoAllow',
      'not in tools.byProvider.test.allow',
    ])
    expect(rules('write', { fromHook: true })).toEqual(['denied to webhooks by default (tools.byOrigin.hook): "write"'])
    expect(rules('cron', { sessionKey: 'agent:main:subagent:1' })).toEqual([
      'not in tools.byProvider.test.allow',
      'denied to subagents by default (tools.subagents.tools): "cron"',
    ])
    expect(rules('gateway', { caller: 'http' }).at(-1)).toBe('denied over HTTP by default (gateway.tools): "gateway"')
  })

  it('of an unknown tool begins with that', async () => {
    const { policy } = await openPolicy(toolsets, { tools: { deny: ['nothing*'] } })
    const { allowed, layers } = policy.explain(turn, 'nothing_like_it')
    expect([allowed, layers[0], layers.length]).toEqual([
      false,
      { layer: 'registry', verdict: 'deny', rule: 'no tool has this name' },
      12,
    ])
    expect(layers[3]).toEqual({ layer: 'tools', verdict: 'deny', rule: 'tools.deny: "nothing*"' })
  })
})

describe('the list of allowed tools', () => {
  const changes = {
    tools: {
      byProvider: { 'test/small': { deny: ['read'] } },
      byOrigin: { hook: { deny: ['message'] } },
      subagents: { tools: { deny: ['web_fetch'] } },
    },
    agents: { main: {}, other: { tools: { deny: ['roll_dice'] } } },
    channels: { console: { groups: { a: { tools: { deny: ['flip_coin'] } }, b: { tools: { deny: ['exec'] } } } } },
  }

  it('agrees with the explanations for every kind of subject', async () => {
    const { policy } = await openPolicy(toolsets, changes)
    for (const caller of ['agent', 'http'] as const)
      for (const agentId of ['main', 'other'])
        for (const model of ['test/small', 'test/large'])
          for (const key of ['main', 'console:group:a', 'console:group:b', 'subagent:1'])
            for (const fromHook of [false, true]) {
              const subject: Subject = { caller, agentId, model, sessionKey: `agent:${agentId}:${key}`, fromHook }
              const [listed, explained] = [
                policy.listed(subject).map(({ tool }) => tool.name),
                all.filter((tool) => policy.explain(subject, tool).allowed),
              ]
              expect([subject, listed]).toEqual([subject, explained.toSorted()])
            }
  })

  it('allows nothing to a run that an agent has started which is no longer in the configuration', async () => {
    const { policy } = await openPolicy(toolsets, changes)
    const startedBy = (agentId: string): Subject => ({
      ...turn,
      initiators: [{ caller: 'agent', agentId, sessionKey: `agent:${agentId}:main` }],
    })
    expect([policy.listed(startedBy('main')).length > 0, policy.listed(startedBy('gone'))]).toEqual([true, []])
  })

  it('follows tools that come and go', async () => {
    const { config } = await openPolicy({}, { tools: { deny: ['late_evil'] } })
    const context = createTestContext()
    const offered = Promise.withResolvers<(tools: readonly Tool[]) => void>()
    const live = defineToolset<never>({
      name: 'live',
      description: 'Has tools now and then.',
      expected: () => [{ name: 'late*' }],
      open: async (_config, { offer }) => {
        offered.resolve(offer)
        return { tools: plainTools('fixed'), close: async () => {} }
      },
    })
    const registry = await openToolRegistry({ toolsets: [live], settings: () => ({}), context: () => context })
    const policy = createPolicy({
      config,
      registry,
      modelOf: () => 'test/model',
      channelName: (name) => name,
      isForeign: () => false,
    })
    const names = () => policy.listed(turn).map(({ tool }) => tool.name)
    expect(names()).toEqual(['fixed'])
    const offer = await offered.promise
    // Nobody could know the tool "odd", so nobody gets it without naming it.
    offer(plainTools('late', 'late_evil', 'odd'))
    expect(policy.judge(turn, 'odd').verdict).toBe('deny')
    const verdicts = ['late', 'late_evil'].map((tool) => policy.judge(turn, tool).verdict)
    expect([names(), ...verdicts]).toEqual([['fixed', 'late'], 'allow', 'deny'])
    offer([])
    expect([names(), policy.judge(turn, 'late').verdict]).toEqual([['fixed'], 'deny'])
  })
})

describe('the warnings', () => {
  it('name every list with an unmatched name, and suggest a name', async () => {
    const { policy } = await openPolicy(toolsets, {
      tools: {
        allow: ['read', 'exce', 'group:fs', 'group:automation', 'group:nothing'],
        byProvider: { test: { deny: ['zzz*'], profile: 'full' } },
        subagents: { tools: { deny: ['x_y'] } },
        effects: { q_2: [] },
      },
      agents: { main: { tools: { alsoAllow: ['fils'], byOrigin: { hook: { allow: ['wrte'] } } } } },
      channels: {
        console: {
          groups: { ops: { tools: { allow: ['reed'] } } },
          accounts: { default: { groups: { ops: { tools: { deny: ['q_1'] } } } } },
        },
      },
      gateway: {
        auth: {
          clients: [
            { name: 'one', role: 'operator', token: 'a-long-token-of-one-client', tools: { deny: ['rol_dice'] } },
          ],
        },
        tools: { allow: ['gateway', 'sessions'], deny: ['z_z'] },
      },
    })
    const names = policy.problems.map((sentence) =>
      /^(\S+) names ("[^"]+"), but no loaded tool has this name; (.+)$/.exec(sentence)?.slice(1),
    )
    const check = 'check the spelling, and whether its plugin is loaded.'
    expect(names).toEqual([
      ['tools.allow', '"exce"', 'did you mean "exec"?'],
      ['tools.allow', '"group:nothing"', expect.any(String)],
      ['tools.byProvider.test.deny', '"zzz*"', check],
      ['tools.subagents.tools.deny', '"x_y"', check],
      ['tools.effects', '"q_2"', check],
      ['agents.main.tools.alsoAllow', '"fils"', 'did you mean "files"?'],
      ['agents.main.tools.byOrigin.hook.allow', '"wrte"', 'did you mean "write"?'],
      ['gateway.auth.clients[0].tools.deny', '"rol_dice"', 'did you mean "roll_dice"?'],
      ['channels.console.groups.ops.tools.allow', '"reed"', 'did you mean "read"?'],
      ['channels.console.accounts.default.groups.ops.tools.deny', '"q_1"', check],
      ['gateway.tools.allow', '"sessions"', expect.any(String)],
      ['gateway.tools.deny', '"z_z"', check],
    ])
  })

  it('are empty if all names match', async () => {
    const { policy } = await openPolicy(toolsets, {
      tools: { profile: 'full', deny: ['EXEC', 'group:plugins', 'roll_*', 'shell'] },
    })
    expect(policy.problems).toEqual([])
  })

  it('cover built-in toolsets without opening them, and are empty if a toolset declares no tools', async () => {
    const parts = await loadExtensions({ plugins: [], dir: '/', log: createTestContext().log })
    const config = {
      tools: { deny: ['web_fech', 'files', 'group:fs', 'exec', 'db__*'] },
      agents: {},
      gateway: { auth: { clients: [] }, tools: { allow: ['write'] } },
      channels: {},
    }
    const settled = { ...config, tools: { ...config.tools, mcp: { servers: { db: {} } } } } as unknown as Config
    expect(findUndeclaredNames(settled, parts)).toEqual([
      { keys: ['tools', 'deny'], problem: expect.stringContaining('did you mean "web_fetch"?') },
    ])
    const secretive = defineToolset({
      name: 'secretive',
      description: 'S.',
      open: () => Promise.reject(new Error('not opened here')),
    })
    expect(
      findUndeclaredNames(settled, { ...parts, toolsets: new Map([...parts.toolsets, ['secretive', secretive]]) }),
    ).toEqual([])
  })

  it('are the same for declared tools and for those of opened toolsets', async () => {
    const parts = await loadExtensions({ plugins: [], dir: '/', log: createTestContext().log })
    for (const toolset of parts.toolsets.values()) {
      if (!toolset.open || toolset.name === 'mcp') continue
      const opened = await toolset.open?.({ allowHosts: [] }, { ...createTestContext(), offer: () => undefined })
      const brought = opened?.tools.map(({ name, group }) => ({ name, group })) ?? []
      expect(toolset.expected?.({})).toEqual(expect.arrayContaining(brought))
      expect(brought).toHaveLength(toolset.expected?.({}).length ?? 0)
      await opened?.close()
    }
  })
})
