// The rules of approvals: who is asked, and whether anybody can answer.
import { describe, expect, it } from 'vitest'
import { problemsOf, resolveText, warningsOf } from '../document.ts'

const pager = "channels: { pager: { key: '12345' } }"
const nobody = (agent: string) =>
  `asks for approvals, but nobody can give them in a chat for the agent ${agent}: ` +
  'set approvals.channel, approvals.to and approvals.approvers, or watch "svc-gateway approvals list"'

describe('approvals', () => {
  it('are accepted for all agents and for one', () => {
    const text = `{ ${pager}, tools: { ask: ['session_status'] },
      approvals: { channel: 'pager', to: '12345', approvers: ['1'], timeout: '2d' },
      agents: { main: { approvals: { approvers: ['2'] } } } }`
    expect(resolveText(text).warnings).toEqual([])
  })

  it.each([
    ["approvals: { channel: 'nothing' }", /^line 1: approvals\.channel must be the name of a loaded channel/],
    ["approvals: { approvers: ['1', '*'] }", /^line 1: approvals\.approvers\[1\] would let everybody approve/],
    ["approvals: { timeout: 'soon' }", /^line 1: approvals\.timeout must be a duration of at most 24 days/],
    ['approvals: { timeout: 0 }', /^line 1: approvals\.timeout must be a duration of at most 24 days/],
    ["agents: { main: { approvals: { timeout: 'x' } } }", /^line 1: agents\.main\.approvals\.timeout must be/],
  ])('reject %s', (text, problem) => {
    expect(problemsOf(`{ ${text} }`)).toEqual([expect.stringMatching(problem)])
  })

  it.each([
    ["tools: { ask: ['session_status'] }", `tools.ask ${nobody('main')}`],
    [
      "tools: { byOrigin: { hook: { beyondRuleOfTwo: 'ask' } } }",
      `tools.byOrigin.hook.beyondRuleOfTwo ${nobody('main')}`,
    ],
    [`${pager}, tools: { ask: ['session_status'] }, approvals: { channel: 'pager' }`, `tools.ask ${nobody('main')}`],
    [
      "approvals: { channel: 'pager', approvers: ['1'] }",
      'approvals.channel is a channel that is not configured, so nobody is asked there; add channels.pager',
    ],
  ])('warn of %s', (text, warning) => {
    expect(warningsOf(`{ ${text} }`)).toEqual([warning])
  })
})
