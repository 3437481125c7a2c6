// Tests what becomes of the answers of a model's service that are empty, cut, filtered or damaged, seen over HTTP.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createReasoningFilter, removeReasoning, removeUpToClosing } from '../../core/agents/reasoning-text.ts'
import { type DialectName, dialectNames, startModels } from '../doubles/model.ts'
import { type Answer as ModelAnswer, dataEvent, namedEvent } from '../doubles/wire.ts'
import { type Document, startGateway } from '../helpers.ts'
import { share } from '../share.ts'
import { login } from '../control/rpc-client.ts'

const shared = share(async () => {
  const models = await startModels()
  const defaults = {
    model: 'chat/m',
    heartbeat: { every: '0' },
    retry: { initialDelaySeconds: 0.05, maxDelaySeconds: 0.1 },
  }
  const once = Object.entries(models.agents).map(([name, agent]) => [
    `${name}-once`,
    { ...agent, retry: { forSeconds: 0 } },
  ])
  const gateway = await startGateway({
    providers: models.providers,
    agents: { defaults, main: { default: true }, ...models.agents, ...Object.fromEntries(once) },
    hooks: { allowRequestSessionKey: true, onFailure: { channel: 'console', to: 'ops' } },
  })
  const run = async (agentId: DialectName | `${DialectName}-once`, fields: Document = {}) => {
    const body = { agentId, message: 'The disk is full.', channel: 'console', wakeMode: 'next-heartbeat', ...fields }
    const { runId } = (await gateway.post('/hooks/agent', body, { prefer: 'wait=20' })).body
    return (await gateway.get(`/runs/${runId}`)).body
  }
  const delivered = () => readFileSync(join(gateway.dir, 'console.jsonl'), 'utf8')
  return { ...gateway, ...models, run, delivered }
})

const blank: ModelAnswer = { text: '\n\n' }

describe.each(dialectNames)('a run over %s', (dialect) => {
  it.each([
    ['is empty', blank, 'answer_empty', 'The model gave an empty answer.'],
    [
      'is withheld by the content filter',
      { text: '', ends: 'filtered' },
      'answer_filtered',
      "The content filter of the model's service withheld the answer.",
    ],
    [
      'ends at the output limit before its first word',
      { text: '', ends: 'cut' },
      'answer_cut',
      'The model reached its output limit before it answered; raise maxOutputTokens of the agent, or lower its thinking.',
    ],
  ] as const)('fails when the answer %s', async (what, answer, ...[type, message]) => {
    const { wires, run, delivered, get } = shared()
    wires[dialect].script(answer)
    const name = `${dialect} ${what}`
    expect(await run(dialect, { name })).toMatchObject({
      status: 'failed',
      error: { type, message },
      usage: { steps: 1 },
    })
    await expect.poll(delivered).toContain(message)
    const { body } = await get('/api/sessions/agent%3Amain%3Amain')
    expect(body.waitingEvents).toBeGreaterThan(0)
  })

  it.each([
    ['cut', 'cut', '[cut: the model reached its output limit]'],
    ['filtered', 'filtered', "[cut: the content filter of the model's service ended the answer]"],
  ] as const)('says so when the answer is %s', async (_what, ends, mark) => {
    const { wires, run } = shared()
    wires[dialect].script({ text: 'The disk holds', ends })
    const { status, reply, deliveries } = await run(dialect)
    expect([status, reply, deliveries.length]).toEqual(['succeeded', `The disk holds\n${mark}`, 1])
  })
})

it('a run that calls tools and then says nothing succeeds only if no reply is awaited', async () => {
  const { wires, run } = shared()
  const call = { tool: 'session_status', args: {} }
  wires.chat.script(call, blank, call, blank)
  expect(await run('chat', { deliver: false })).toMatchObject({ status: 'succeeded' })
  expect(await run('chat')).toMatchObject({
    status: 'failed',
    error: { type: 'answer_empty', message: 'The model called tools, and then gave an empty answer.' },
  })
})

describe('reasoning in the text of an answer', () => {
  const answers: [what: string, text: string, visible: string][] = [
    ['at the beginning', '<think>Hm.\nSecret.</think>\n\nAll is well.', 'All is well.'],
    ['in several blocks', ' <thinking>a</thinking>\n<THINK>b</THINK>Done.', 'Done.'],
    ['on a line of its own', 'One.\n\n<think>Secret.</think>\n\nTwo.', 'One.\n\nTwo.'],
    ['in other delimiters', '[THINK]Secret.[/THINK]One.\n◁think▷Secret.◁/think▷Two.', 'One.\nTwo.'],
    ['without its opening tag', 'Secret.\n</think>\n\nAll is well.', 'All is well.'],
    [
      'beside a tag in code',
      '<think>a</think>```\n<think>b</think>\n</think>\n```',
      '```\n<think>b</think>\n</think>\n```',
    ],
    [
      'beside tags that are mentioned',
      'Use `<think>`, or <think>.\n<think> opens it.',
      'Use `<think>`, or <think>.\n<think> opens it.',
    ],
  ]
  it.each(answers)('is removed %s, however the text is split', (_what, text, visible) => {
    for (const size of [1, 2, 3, 5, 8, text.length]) {
      const filter = createReasoningFilter()
      const parts = Array.from({ length: Math.ceil(text.length / size) }, (_, index) =>
        filter.push(text.slice(index * size, (index + 1) * size)),
      )
      expect(removeUpToClosing(parts.join('') + filter.end()).trim()).toBe(visible)
    }
  })

  it.each(dialectNames)(
    'reaches neither people, the record, the transcript nor the next prompt over %s',
    async (dialect) => {
      const { wires, run, delivered, get } = shared()
      const sessionKey = `hook:thoughts-${dialect}`
      const before = wires[dialect].requests.length
      wires[dialect].script(
        { tool: 'session_status', args: {}, text: '<think>Secret one.</think>' },
        { text: '', parts: ['<thi', 'nk>Secret', ' two.</th', 'ink>\n\nAll', ' is well.'] },
        { text: 'Again.' },
      )
      const { runId, reply } = await run(dialect, { sessionKey })
      expect(reply).toBe('All is well.')
      await run(dialect, { sessionKey })
      const session = await get(`/api/sessions/${encodeURIComponent(`agent:${dialect}:${sessionKey}`)}`)
      const sent = wires[dialect].requests.slice(before).map(({ body }) => body)
      expect(sent).toHaveLength(3)
      const steps = (await get(`/runs/${runId}/steps`)).body
      expect(JSON.stringify([session.body, steps, sent, delivered()])).not.toContain('Secret')
    },
  )

  it.each(['\\n', ' ', 'a\\n', '<think></think>', '<think>\\n', '`', '```\\n', '</think>\\n'])(
    'is looked for in many of %j in passing',
    (piece) => {
      const text = piece.repeat(300_000)
      expect(text).toContain(removeReasoning(text))
    },
  )

  it('is not streamed to a chat', async () => {
    const { wires, url } = shared()
    const client = await login(url)
    wires.chat.script({ text: '', parts: ['<th', 'ink>Secret.</think', '>All is', ' well.'] })
    const { result } = await client.call('chat.send', { text: 'How is it?' })
    const deltas = client.notifications.filter(({ method }) => method === 'chat.delta')
    expect([result.reply, deltas.map(({ params }) => params.text).join('')]).toEqual(['All is well.', 'All is well.'])
  })
})

describe('a session that several models share', () => {
  it('holds nothing that the service of one of them refuses', async () => {
    const { wires, post, get } = shared()
    const say = async (model: string) => {
      const body = { message: 'Go on.', sessionKey: 'hook:shared', model, deliver: false, wakeMode: 'next-heartbeat' }
      const { runId } = (await post('/hooks/agent', body, { prefer: 'wait=20' })).body
      return (await get(`/runs/${runId}`)).body
    }
    const odd = { tool: 'session_status', args: {}, id: 'functions.session_status:0', text: '\n\n' }
    const unknown = { tool: 'no such tool!', args: {}, id: 'functions.session_status:0' }
    wires.chat.script(odd, odd, unknown, { text: 'One.' })
    expect(await say('chat/m')).toMatchObject({ status: 'succeeded' })
    wires.messages.script(
      { tool: 'session_status', args: {}, text: '\n\n' },
      { tool: 'no such tool!', args: {}, id: 'toolu_2' },
      { text: 'Two.' },
    )
    expect((await say('messages/claude-opus-4-6')).error).toBeUndefined()
    wires.gemini.script({ tool: 'session_status', args: {}, text: ' ' }, { text: 'Three.' })
    expect(await say('gemini/gemini-2.5-flash')).toMatchObject({ status: 'succeeded' })
    wires.messages.script({ text: 'Four.' })
    expect((await say('messages/claude-opus-4-6')).error).toBeUndefined()
    const ids = JSON.stringify(wires.messages.requests.at(-1)!.body).matchAll(/"id":"([^"]+)"/g)
    expect([...ids].map(([, id]) => id)).toEqual([1, 2, 3, 4, 5, 6].map((count) => `past0000${count}`))
  })
})

describe('trouble in place of an answer', () => {
  const events = (...values: unknown[]) => ({ raw: values.map(dataEvent).join('') })
  const begun = { id: '1', choices: [{ delta: { content: 'Well, ' } }] }
  const googleError = { code: 503, message: 'The model is overloaded.', status: 'UNAVAILABLE' }
  const page = '<html><title>502</title><body><h1>Bad gateway</h1></body></html>'
  const passing: [what: string, dialect: DialectName, answer: ModelAnswer, words: string][] = [
    [
      'an error chunk',
      'chat',
      events(begun, { error: { message: 'CUDA is out of memory', type: 'internal_error' } }),
      'CUDA',
    ],
    ['a limit of tokens', 'chat', events({ error: { message: 'Too many tokens per minute' } }), 'per minute'],
    ['an error that is a text', 'chat', events({ error: 'the runner has ended' }), 'the runner has ended'],
    [
      'an error with a status',
      'chat',
      events({ error: { message: 'Provider returned error', code: 502 } }),
      'Provider',
    ],
    [
      'an error without a field "error"',
      'chat',
      events({ object: 'error', message: 'engine is dead' }),
      'engine is dead',
    ],
    [
      'a line of JSON that is cut',
      'chat',
      { raw: `${dataEvent(begun)}data: {"choices":[{"del\n\n` },
      '{"choices":[{"del',
    ],
    ['a text line in an event', 'chat', { raw: 'data: upstream connect error\n\n' }, 'upstream connect error'],
    ['a text line', 'chat', { raw: `${dataEvent(begun)}upstream connect error\n` }, 'upstream connect error'],
    ['a web page', 'chat', { raw: page, type: 'text/html' }, 'Bad gateway'],
    ['an unstreamed answer', 'chat', { raw: '{"choices":[{"message":{"content":"Hi"}}]}' }, '"content":"Hi"'],
    ['an unstreamed error', 'gemini', { raw: JSON.stringify([{ error: googleError }]) }, 'overloaded'],
    ['an error chunk', 'gemini', events({ error: googleError }), 'overloaded'],
    ['a web page', 'gemini', { raw: page, type: 'text/html' }, 'Bad gateway'],
    [
      'an error event',
      'messages',
      {
        raw: namedEvent({ type: 'error', error: { type: 'api_error', message: 'Internal error' } } as { type: string }),
      },
      'Internal error',
    ],
    ['a text line in an event', 'messages', { raw: 'data: upstream connect error\n\n' }, 'upstream connect error'],
    [
      'a failed response',
      'responses',
      events({ type: 'response.failed', response: { error: { code: 'server_error', message: 'Sorry about that' } } }),
      'Sorry about that',
    ],
    ['a web page', 'responses', { raw: page, type: 'text/html' }, 'Bad gateway'],
  ]
  it.each(passing)(
    'passes, and its words are in the record: %s over %s',
    async (_what, dialect, ...[answer, words]) => {
      const { wires, run } = shared()
      wires[dialect].otherwise(answer)
      const failed = await run(`${dialect}-once`, { deliver: false })
      expect(failed).toMatchObject({ status: 'failed', error: { type: 'model_failed' } })
      expect(failed.error.detail).toContain(words)
      wires[dialect].script(answer)
      wires[dialect].otherwise({ text: 'At last.' })
      expect(await run(dialect, { deliver: false })).toMatchObject({ status: 'succeeded', reply: 'At last.' })
    },
  )

  const final: [what: string, dialect: DialectName, answer: ModelAnswer][] = [
    ['an invalid key', 'chat', events({ error: { message: 'Invalid API key' } })],
    [
      'an unknown model',
      'chat',
      events({ error: { message: 'The model `m` does not exist', code: 'model_not_found' } }),
    ],
    ['a policy', 'responses', events({ type: 'error', code: 'image_policy', message: 'No.', param: null })],
    ['a request', 'gemini', events({ error: { code: 400, message: 'No.', status: 'INVALID_ARGUMENT' } })],
  ]
  it.each(final)('fails at once if it names a refusal: of %s over %s', async (_what, dialect, answer) => {
    const { wires, run } = shared()
    wires[dialect].script(answer)
    expect(await run(dialect, { deliver: false })).toMatchObject({ status: 'failed', error: { type: 'model_failed' } })
  })

  it('is read over if it harms nothing', async () => {
    const { wires, run } = shared()
    const usage = { prompt_tokens: 7, completion_tokens: 3 }
    const odd = [{}, { type: 'ping' }, { id: 7, usage }, { id: 'a', choices: null, usage, error: null }].map(dataEvent)
    const call = { index: 0, id: 4, function: { name: 'session_status', arguments: {} } }
    const calls = [
      { id: 1, created: 'now', choices: [{ delta: { role: 'model', tool_calls: [call] }, finish_reason: null }] },
      { id: 1, choices: [{ finish_reason: 'tool_calls' }] },
    ]
    wires.chat.script(events(...calls), { text: 'All is well.', events: ['data: ping\n\n', 'data:\n\n', ...odd] })
    expect(await run('chat', { deliver: false })).toMatchObject({ reply: 'All is well.', usage: { steps: 2 } })
    wires.messages.script({ text: 'All is well.', events: [namedEvent({ type: 'invented_later' })] })
    expect(await run('messages', { deliver: false })).toMatchObject({ reply: 'All is well.', usage: { steps: 1 } })
  })
})

describe('a conversation that is longer than the model can read', () => {
  const refusals: [DialectName, status: number, body: object][] = [
    ['chat', 400, { error: { message: 'the request exceeds the available context size, try increasing it' } }],
    [
      'messages',
      400,
      { type: 'error', error: { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' } },
    ],
    [
      'responses',
      400,
      { error: { code: 'context_length_exceeded', message: 'Your input exceeds the context window of this model' } },
    ],
    [
      'gemini',
      400,
      {
        error: {
          code: 400,
          message: 'The input token count (9) exceeds the maximum number of tokens allowed (8)',
          status: 'INVALID_ARGUMENT',
        },
      },
    ],
  ]
  it.each(refusals)('is read in half, then not at all: %s', async (dialect, status, body) => {
    const { wires, url, logged } = shared()
    const client = await login(url)
    const say = async (text: string) =>
      (await client.call('chat.send', { text, sessionKey: `agent:${dialect}:long` })).result
    const lengths = () =>
      wires[dialect].requests.map((request) => JSON.stringify(request.body).match(/Word \w+/g)?.length)
    wires[dialect].otherwise({ text: 'Noted.' })
    for (const word of ['one', 'two', 'three', 'four']) await say(`Word ${word}`)
    const before = wires[dialect].requests.length
    wires[dialect].script({ status, body }, { text: 'Half.' })
    const half = await say('Word five')
    expect(half.reply).toMatch(/^Half\.\n\n\[This conversation is longer .*\/new .*session\.historyTokens/)
    wires[dialect].script({ status, body }, { status, body }, { text: 'None.' })
    expect((await say('Word six')).reply).toMatch(/^None\./)
    expect(lengths().slice(before)).toEqual([5, 3, 6, 3, 1])
    wires[dialect].script(...Array.from({ length: 3 }, () => ({ status, body })))
    const failed = await say('Word seven')
    expect(failed).toMatchObject({
      status: 'failed',
      error: { message: expect.stringMatching(/historyTokens, or \/new/) },
    })
    expect(JSON.stringify(wires[dialect].requests.at(-1)!.body)).not.toContain('[This conversation')
    expect(logged.filter((line) => line.includes('historyTokens')).length).toBeGreaterThan(2)
  })
})
