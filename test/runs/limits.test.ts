// Tests the limits of runs that agents have: calls of the model, its output, and the history in its prompt.
import { describe, expect, it } from 'vitest'
import { messagesOf, startModel } from '../doubles/model.ts'
import { startGateway } from '../helpers.ts'
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
