// The session of a tool call over HTTP.
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../core/errors.ts'
import { resolveSession } from '../../core/tools/session.ts'

function owners(mainSession: string) {
  const main = { id: 'main', mainSession }
  const support = { id: 'support', mainSession: 'agent:support:work' }
  return { default: main, get: (id: string) => (id === 'support' ? support : main) }
}

describe('the session of a call', () => {
  it.each([
    [undefined, 'main', 'agent:main:work'],
    ['main', 'main', 'agent:main:work'],
    [' MAIN ', 'main', 'agent:main:work'],
    ['work', 'main', 'agent:main:work'],
    ['Hook:CI', 'main', 'agent:main:hook:ci'],
    ['global', 'main', 'agent:main:global'],
    ['agent:main:hook:ci', 'main', 'agent:main:hook:ci'],
    ['agent:support:work', 'support', 'agent:support:work'],
    ['Agent:Support:Subagent:1', 'support', 'agent:support:subagent:1'],
    ['agent:nobody:x', 'main', 'agent:nobody:x'],
  ])('%j belongs to %s: %s', (requested, agentId, sessionKey) => {
    expect(resolveSession(owners('agent:main:work'), requested)).toEqual({ agentId, sessionKey })
  })

  it('is global in global scope', () => {
    for (const key of [undefined, 'main', 'global'])
      expect(resolveSession(owners('global'), key)).toEqual({ agentId: 'main', sessionKey: 'global' })
    expect(resolveSession(owners('global'), 'agent:support:x')).toEqual({
      agentId: 'support',
      sessionKey: 'agent:support:x',
    })
  })

  it.each(['agent:', 'agent:main', 'agent:main:', 'agent::x'])('%j is refused', (key) => {
    expect(() => resolveSession(owners('agent:main:main'), key)).toThrow(GatewayError)
  })
})
