// Tests the limits of runs that agents have: calls of the model, its output, and the history in its prompt.
import { describe, expect, it } from 'vitest'
import { messagesOf, startModel } from '../doubles/model.ts'
import { startChat } from '../doubles/chat.ts'
import { startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const wait = { prefer: 'wait=20' }

const shared = share(async () => {
  const model = await startModel()
  const gateway = await startGateway({
    providers: model.providers,
    agents: {
      defaults: { model: 'double/m', maxSteps: 3, maxOutputTokens: 500, historyTurns: 2, heartbeat: { every: '0' } },
      main: {},
      brief: { maxSteps: 1, maxOutputTokens: 50, historyTurns: 1 },
      forgetful: { historyTokens: 0 },
      frugal: { historyTurns: 9, historyTokens: 100 },
    },
    hooks: { allowRequestSessionKey: true },
  })
  const run = async (agentId: string, message = 'Go.', sessionKey?: string) => {
    const body = { agentId, message, deliver: false, wakeMode: 'next-heartbeat', ...(sessionKey && { sessionKey }) }
    const { runId } = (await gateway.post('/hooks/agent', body, wait)).body
    return (await gateway.get(`/runs/${runId}`)).body
  }
  return { model, run }
})

describe('the limits of an agent', () => {
  it('maxSteps ends a run whose model only calls tools, after as many calls as its agent has', async () => {
    const { model, run } = shared()
    for (const [agentId, steps] of Object.entries({ main: 3, brief: 1 })) {
      model.script(...Array.from({ length: steps }, () => ({ tool: 'session_status', args: {} })))
      expect(await run(agentId)).toMatchObject({
        status: 'failed',
        error: { type: 'no_answer', message: `The model gave no answer within ${steps} steps.` },
        usage: { steps },
      })
      expect(model.requests.at(-1)!.body).toMatchObject({ tool_choice: 'none' })
    }
  })

  it('maxOutputTokens is sent to the model with each call', async () => {
    const { model, run } = shared()
    for (const [agentId, tokens] of Object.entries({ main: 500, brief: 50 })) {
      model.script({ text: 'Done.' })
      await run(agentId)
      expect(model.requests.at(-1)!.body).toMatchObject({ max_tokens: tokens })
    }
  })

  it.each([
    ['main', 'by the turns of the defaults', ['two', 'three', 'four']],
    ['brief', 'by turns of its own', ['three', 'four']],
    ['forgetful', 'by tokens: 0 is none', ['four']],
    ['frugal', 'by tokens of its own', ['three', 'four']],
  ])('the history of %s is limited %s', async (agentId, _by, expected) => {
    const { model, run } = shared()
    for (const word of ['one', 'two', 'three', 'four']) {
      model.script({ text: 'Noted.' })
      await run(agentId, word, `hook:history-${agentId}`)
    }
    const asked = messagesOf(model.requests.at(-1)!).flatMap(({ role, content }) => (role === 'user' ? [content] : []))
    const words = asked.map((content) => /\b(one|two|three|four)\b/.exec(content)?.[1])
    expect(words).toEqual(expected)
  })
})

describe('the limits of a run and its subagents', () => {
  /** A gateway with a model that, whoever asks it, makes these calls at once and then answers. */
  async function storm(calls: readonly { tool: string; args: object }[]) {
    const [dir, model, chat] = [temporaryFolder(), await startModel(), await startChat()]
    const gateway = await startGateway(
      {
        ...chat.config(dir, { 'chat-native': { defaultTo: '7' } }),
        providers: model.providers,
        tools: { allow: ['message', 'sessions_spawn', 'session_status'], ask: ['session_status'] },
        agents: {
          defaults: {
            model: 'double/m',
            heartbeat: { every: '0' },
            maxMessages: 3,
            maxApprovals: 2,
            maxStartedRuns: 2,
          },
        },
      },
      dir,
    )
    model.otherwise(({ body }) => {
      const hasCalled = (body['messages'] as { role: string }[]).some(({ role }) => role === 'tool')
      return hasCalled ? { text: 'Done.' } : { calls }
    })
    const body = { message: 'Go.', deliver: false, wakeMode: 'next-heartbeat' }
    const { runId } = (await gateway.post('/hooks/agent', body)).body as { runId: string }
    const settled = async () => {
      const { items } = (await gateway.get('/api/runs?limit=200')).body as { items: { status: string }[] }
      return items.every(({ status }) => !['queued', 'running'].includes(status)) && items
    }
    await expect.poll(settled, { timeout: 10_000 }).toBeTruthy()
    const steps = JSON.stringify((await gateway.get(`/runs/${runId}/steps`)).body)
    return { gateway, steps, runs: (await settled()) as { status: string }[] }
  }

  const times = (count: number, tool: string, args: object = {}) =>
    Array.from({ length: count }, () => ({ tool, args }))

  it('bound the messages and the approvals of one webhook', async () => {
    const message = { text: 'Psst.', channel: 'chat-native', to: '7' }
    const sent = await storm([...times(10, 'message', message), ...times(5, 'session_status')])
    const outbox = (await sent.gateway.get('/api/outbox?limit=200')).body as { items: { text: string }[] }
    expect(outbox.items).toHaveLength(3)
    const approvals = (await sent.gateway.get('/api/approvals?limit=200')).body as { items: object[] }
    expect(approvals.items).toHaveLength(2)
    expect(sent.steps).toContain('have already sent 3 messages, which is the limit (maxMessages')
    expect(sent.steps).toContain('have already asked for 2 approvals, which is the limit (maxApprovals')
  })

  it('count what subagents do for the run that began', async () => {
    const message = { text: 'Psst.', channel: 'chat-native', to: '7' }
    const { gateway, steps, runs } = await storm([
      ...times(3, 'sessions_spawn', { task: 'More.' }),
      ...times(2, 'message', message),
    ])
    const outbox = (await gateway.get('/api/outbox?limit=200')).body as { items: object[] }
    expect(outbox.items).toHaveLength(3)
    expect(runs).toHaveLength(1 + 2)
    expect(steps).toContain('have already started 2 runs, which is the limit (maxStartedRuns')
  })
})
