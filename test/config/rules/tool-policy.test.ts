// The keys of the tool policy: errors and warnings.
import { describe, expect, it } from 'vitest'
import { problemsOf, resolveText, warningsOf } from '../document.ts'

describe('the tool policy', () => {
  it('is accepted in tools, agents, groups and gateway', () => {
    const text = `{
      tools: { profile: 'coding', alsoAllow: ['x'], deny: [],
        byProvider: { builtin: { profile: 'full', allow: ['y'] } }, byOrigin: { hook: { allow: [] } },
        subagents: { tools: { deny: ['z'] } }, weather: { unit: 'f' } },
      agents: { main: { tools: { allow: ['a'], byProvider: { 'builtin/rules': { alsoAllow: ['b'] } },
        byOrigin: { hook: { deny: ['c'] } } } } },
      channels: { pager: { key: '12345', groups: { '*': { tools: { allow: ['d'] } }, empty: {} },
        accounts: { one: { groups: { g: { tools: { deny: ['e'] } } } } } } },
      gateway: { tools: { allow: ['gateway'], deny: ['f'] }, auth: { token: '0123456789abcdef01234567' } },
    }`
    const { config, warnings } = resolveText(text)
    expect(warnings).toEqual([])
    expect(config.tools.byProvider).toEqual({ builtin: { profile: 'full', allow: ['y'] } })
    expect(config.channels['pager']?.accounts?.['one']?.groups).toEqual({ g: { tools: { deny: ['e'] } } })
  })

  it('rejects allow with alsoAllow in each section', () => {
    const scope = "allow: ['a'], alsoAllow: ['b']"
    const text =
      `{ tools: { ${scope}, byProvider: { builtin: { ${scope} } } },\n agents: { main: { tools: { ` +
      `${scope}, byProvider: { 'builtin/rules': { ${scope} } } } } } }`
    const end = 'cannot be combined with allow; move its names there, or use a profile instead of allow'
    expect(problemsOf(text)).toEqual([
      `line 1: tools.alsoAllow ${end}`,
      `line 1: tools.byProvider.builtin.alsoAllow ${end}`,
      `line 2: agents.main.tools.alsoAllow ${end}`,
      `line 2: agents.main.tools.byProvider.builtin/rules.alsoAllow ${end}`,
    ])
  })

  it.each([
    ["tools: { profile: 'codeing' }", 'line 1: tools.profile must be one of "minimal", "coding", "messaging", "full"'],
    ["tools: { allow: 'read' }", 'line 1: tools.allow must be a list'],
    ["tools: { deny: [' '] }", 'line 1: tools.deny[0] must not be blank'],
    ['tools: { byOrigin: { hooks: {} } }', 'line 1: tools.byOrigin.hooks is not a known key; did you mean "hook"?'],
    [
      "tools: { byOrigin: { hook: { profile: 'full' } } }",
      'line 1: tools.byOrigin.hook.profile is not a known key; valid keys: allow, ask, deny, beyondRuleOfTwo',
    ],
    [
      'tools: { subagents: { deny: [] } }',
      'line 1: tools.subagents.deny is not a known key; valid keys: tools, maxDepth, maxActive',
    ],
    [
      'agents: { main: { tools: { subagents: {} } } }',
      expect.stringContaining('agents.main.tools.subagents is not a known key'),
    ],
    ...['group:runtime', ' Group:fs', 'w*', '*', ' '].flatMap((name) =>
      ['allow', 'ask', 'deny'].map((list): [string, string] => [
        `gateway: { tools: { ${list}: ['exec', '${name}'] } }`,
        `line 1: gateway.tools.${list}[1] must be the exact name of a tool; patterns and groups work in "tools" and in ` +
          'the tools of a client',
      ]),
    ),
    [
      "gateway: { tools: { profile: 'full' } }",
      'line 1: gateway.tools.profile is not a known key; valid keys: allow, ask, deny',
    ],
  ])('rejects %s', (text, problem) => {
    expect(problemsOf(`{ ${text} }`)).toEqual([problem])
  })

  it('warns about lists for an unknown provider', () => {
    const text =
      "{ providers: { Hosted: { kind: 'hosted', apiKey: 'x' } }, tools: { byProvider: { 'hosted/m': {}, hostde: " +
      "{}, 'elsewhere/m': {} } } }"
    expect(warningsOf(text)).toEqual([
      'tools.byProvider.hostde is not a configured provider, so it applies to no model; did you mean "Hosted"?',
      'tools.byProvider.elsewhere/m is not a configured provider, so it applies to no model',
    ])
  })

  it('warns if texts that a chat sees do not narrow it', () => {
    expect(warningsOf('{ tools: { narrowChats: true } }')).toEqual([])
    expect(warningsOf('{ tools: { narrowChats: false } }')).toEqual([
      'tools.narrowChats is false, so text from outside that an agent sees in a chat may use the tools of whoever chats, ' +
        'limited only by the rule of two; set it to true to be asked instead',
    ])
  })
})
