// The toolset of sessions, by the law of toolsets and by what its tools answer.
import { describe, expect, it } from 'vitest'
import { InputError, type SessionStatus, type ToolContext } from '../../core/plugin.ts'
import sessionsToolset from '../../plugins/tools/sessions.ts'
import { createTestContext } from '../contracts/context.ts'
import { toolsetContract } from '../contracts/toolset.ts'

const known: SessionStatus = {
  key: 'agent:main:hook:ci',
  agentId: 'main',
  updatedAt: '2026-01-02T03:04:05.000Z',
  lastRoute: { channel: 'console', to: 'console' },
  waitingEvents: 2,
  queuedRuns: 1,
  runningRuns: 0,
  transcriptMessages: 6,
}
const asked: unknown[] = []
const sessions: ToolContext['sessions'] = {
  list: async (options) => {
    asked.push(options)
    return [{ key: known.key, agentId: known.agentId, updatedAt: known.updatedAt }]
  },
  status: async (key) => (key === known.key ? known : undefined),
}

toolsetContract(sessionsToolset, {
  sessions,
  calls: [
    { tool: 'session_status', args: { sessionKey: ` ${known.key} ` }, answer: known },
    {
      tool: 'session_status',
      args: {},
      answer: { key: 'agent:main:main', agentId: 'main', waitingEvents: 0, queuedRuns: 0, runningRuns: 0, transcriptMessages: 0 },
    },
    { tool: 'sessions_list', args: {}, answer: { items: [{ key: known.key, agentId: 'main', updatedAt: known.updatedAt }] } },
    { tool: 'sessions_list', args: { agentId: 'main', limit: 200 } },
  ],
  refused: [
    { tool: 'session_status', args: { sessionKey: ' ' } },
    { tool: 'session_status', args: { key: 'x' } },
    { tool: 'sessions_list', args: { limit: 0 } },
    { tool: 'sessions_list', args: { limit: 201 } },
    { tool: 'sessions_list', args: { limit: '5' } },
  ],
})

describe('session_status', () => {
  it('blames the input for a session that is not there', async () => {
    const [status] = sessionsToolset.tools ?? []
    const context: ToolContext = { ...createTestContext(), agentId: 'main', sessionKey: 'agent:main:main', caller: 'http', sessions }
    await expect(status?.execute({ sessionKey: 'agent:main:gone' } as never, context)).rejects.toThrow(InputError)
  })
})

describe('sessions_list', () => {
  it('asks for what its arguments say', () => {
    expect(asked).toEqual([{}, { agentId: 'main', limit: 200 }])
  })
})
