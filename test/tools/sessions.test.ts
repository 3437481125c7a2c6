// The sessions toolset: the contract suite for toolsets, and the results of its tools.
import { describe, expect, it } from 'vitest'
import {
  type AgentSummary,
  InputError,
  type SessionMessage,
  type SessionStatus,
  type ToolApi,
} from '../../core/plugin/plugin.ts'
import sessionsToolset from '../../plugins/tools/sessions.ts'
import { createTestContext } from '../contracts/context.ts'
import { toolsetContract } from '../contracts/toolset.ts'
import { createTestToolApi } from '../contracts/tool-api.ts'

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
const said: SessionMessage = { role: 'user', text: 'Hello', at: known.updatedAt, runId: 'run-1' }
const agent: AgentSummary = {
  id: 'main',
  name: 'main',
  default: true,
  model: 'builtin/rules',
  mainSession: 'agent:main:main',
}
const toolApi: Partial<ToolApi> = {
  agents: { list: () => [agent] },
  runs: {
    start: async ({ sessionKey = 'agent:main:subagent:1' }) => ({ runId: 'run-2', sessionKey }),
    wait: async (id) => ({ id, status: 'succeeded', reply: 'Hi' }),
  },
}
const sessions: ToolApi['sessions'] = {
  list: async ({ agentId = 'main', limit = 1 } = {}) =>
    Array.from({ length: limit }, () => ({ key: known.key, agentId, updatedAt: known.updatedAt })),
  status: async (key) => (key === known.key ? known : undefined),
  history: async (key) => (key === known.key ? [said] : undefined),
}

toolsetContract(sessionsToolset, {
  toolApi: { ...toolApi, sessions },
  calls: [
    { tool: 'session_status', args: { sessionKey: ` ${known.key} ` }, answer: known },
    {
      tool: 'session_status',
      args: {},
      answer: {
        key: 'agent:main:main',
        agentId: 'main',
        waitingEvents: 0,
        queuedRuns: 0,
        runningRuns: 0,
        transcriptMessages: 0,
      },
    },
    {
      tool: 'sessions_list',
      args: {},
      answer: { items: [{ key: known.key, agentId: 'main', updatedAt: known.updatedAt }] },
    },
    {
      tool: 'sessions_list',
      args: { agentId: 'ops', limit: 2 },
      answer: {
        items: Array.from({ length: 2 }, () => ({ key: known.key, agentId: 'ops', updatedAt: known.updatedAt })),
      },
    },
    { tool: 'sessions_list', args: { limit: 200 } },
    { tool: 'sessions_history', args: { sessionKey: known.key }, answer: { items: [said] } },
    {
      tool: 'sessions_send',
      args: { sessionKey: known.key, message: 'Hi?' },
      answer: { runId: 'run-2', sessionKey: known.key, status: 'succeeded', reply: 'Hi' },
    },
    {
      tool: 'sessions_send',
      args: { sessionKey: known.key, message: 'Hi!', waitSeconds: 0 },
      answer: { runId: 'run-2', sessionKey: known.key, status: 'queued' },
    },
    {
      tool: 'sessions_spawn',
      args: { task: 'Count to ten', name: 'ten' },
      answer: { runId: 'run-2', sessionKey: 'agent:main:subagent:1' },
    },
    { tool: 'agents_list', args: {}, answer: { items: [agent] } },
  ],
  refused: [
    { tool: 'session_status', args: { sessionKey: ' ' } },
    { tool: 'session_status', args: { key: 'x' } },
    { tool: 'sessions_list', args: { limit: 0 } },
    { tool: 'sessions_list', args: { limit: 201 } },
    { tool: 'sessions_list', args: { limit: '5' } },
    { tool: 'sessions_history', args: {} },
    { tool: 'sessions_send', args: { sessionKey: 'main', message: ' ' } },
    { tool: 'sessions_send', args: { sessionKey: 'main', message: 'x', waitSeconds: 301 } },
    { tool: 'sessions_spawn', args: { task: 'x', timeoutSeconds: 0 } },
    { tool: 'agents_list', args: { all: true } },
  ],
})

describe('session_status', () => {
  it('reports an unknown session as an input error', async () => {
    const [status] = sessionsToolset.tools ?? []
    const context = {
      ...createTestContext(),
      ...createTestToolApi({ sessions }),
      agentId: 'main',
      sessionKey: 'agent:main:main',
      caller: 'http' as const,
    }
    await expect(status?.execute({ sessionKey: 'agent:main:gone' } as never, context)).rejects.toThrow(InputError)
  })
})
