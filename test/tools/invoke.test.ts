// Tool calls: policy, arguments, deadlines and results; a tool cannot harm its caller.
import { getEventListeners, once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { GatewayError } from '../../core/errors.ts'
import { defineTool, InputError, type Json, type Tool, type ToolEffect, Type } from '../../core/plugin/plugin.ts'
import { openToolRegistry } from '../../core/tools/registry.ts'
import { createInvoke, maxResultLength, type ToolCall } from '../../core/tools/invoke.ts'
import type { Policy } from '../../core/tools/policy.ts'
import type { Subject } from '../../core/tools/subject.ts'
import { createTestContext } from '../contracts/context.ts'
import { createTestToolApi } from '../contracts/tool-api.ts'

const toolApi = createTestToolApi()

const subject: Subject = { caller: 'http', agentId: 'main', sessionKey: 'agent:main:main' }

interface Setup {
  execute?: Tool['execute']
  args?: Tool['args']
  effects?: readonly ToolEffect[]
  judge?: Policy['judge']
  timeoutMs?: number
}

/** The tool `probe` behind `invoke`, as the gateway builds it. */
async function setUp({
  execute = () => 'ok',
  args = Type.Object({}),
  effects,
  judge = () => ({ verdict: 'allow' }),
  timeoutMs = 60_000,
}: Setup = {}) {
  const context = createTestContext()
  const probe = defineTool({ name: 'probe', description: 'Probes.', args, execute, ...(effects && { effects }) })
  const toolset = { kind: 'toolset' as const, name: 'probes', description: 'Probes.', tools: [probe] }
  const registry = await openToolRegistry({ toolsets: [toolset], settings: () => ({}), context: () => context })
  const invoke = createInvoke({
    registry,
    policy: { judge, isTrusted: () => true },
    ruleOfTwo: { admit: async () => [], needsApproval: async () => false },
    toolApi: () => toolApi,
    timeoutMs,
    log: context.log,
  })
  const call = (changes: Partial<ToolCall> = {}): Promise<Json> =>
    invoke({
      tool: 'probe',
      args: {},
      subject,
      signal: new AbortController().signal,
      ...changes,
    })
  return { call, context }
}

async function refusal(result: Promise<unknown>): Promise<GatewayError> {
  const error = await result.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(error instanceof GatewayError)) throw new Error('the call did not fail', { cause: error })
  return error
}

describe('a tool call', () => {
  it('passes arguments and context to the tool, and returns the result', async () => {
    const seen: unknown[] = []
    const { call, context } = await setUp({
      args: Type.Object({ n: Type.Integer() }),
      execute: (args: { n: number }, { agentId, sessionKey, caller, runId, state, signal, sessions: view }) => {
        seen.push({
          agentId,
          sessionKey,
          caller,
          runId,
          aborted: signal.aborted,
          own: state === context.state,
          view: view === toolApi.sessions,
        })
        return { doubled: args.n * 2 }
      },
    })
    expect(await call({ args: { n: 21 }, subject: { ...subject, caller: 'agent' }, runId: 'run-1' })).toEqual({
      doubled: 42,
    })
    expect(seen).toEqual([
      {
        agentId: 'main',
        sessionKey: 'agent:main:main',
        caller: 'agent',
        runId: 'run-1',
        aborted: false,
        own: true,
        view: true,
      },
    ])
  })

  it('fails in the same way for an unknown tool and for one that is not allowed', async () => {
    const { call } = await setUp({
      judge: ({ agentId }, tool) => ({ verdict: tool === 'probe' && agentId === 'main' ? 'allow' : 'deny' }),
    })
    expect(await call()).toBe('ok')
    const refused = await Promise.all([
      refusal(call({ tool: 'PROBE' })),
      refusal(call({ tool: 'constructor' })),
      refusal(call({ subject: { ...subject, agentId: 'other', sessionKey: 'agent:other:main' } })),
    ])
    for (const error of refused)
      expect([error.code, error.status, error.publicMessage]).toEqual([
        'tool_not_available',
        404,
        'The tool is not available.',
      ])
  })

  it.each([
    [{ n: '5' }, 'args.n must be a whole number.'],
    [{}, 'args.n is required.'],
    [{ n: 1, list: [{ id: 7 }] }, 'args.list[0].id must be a string.'],
    [{ n: 1, extra: 1 }, 'args.extra is not a known key.'],
    [
      { list: [{}, { id: 7 }], extra: 1 },
      'args.n is required; args.extra is not a known key; ' +
        'args.list[0].id is required; args.list[1].id must be a string.',
    ],
    [
      { n: 1, list: Array.from({ length: 25 }, () => ({})) },
      expect.stringMatching(/^args\.list\[0\]\.id is required; .*args\.list\[19\]\.id is required; and 5 more\.$/),
    ],
    ['text', 'args must be an object.'],
    [null, 'args must be an object.'],
    [[], 'args must be an object.'],
  ])('with %j is refused: %s', async (args, message) => {
    const list = Type.Optional(Type.Array(Type.Object({ id: Type.String() })))
    const { call } = await setUp({ args: Type.Object({ n: Type.Integer(), list }, { additionalProperties: false }) })
    const error = await refusal(call({ args }))
    expect([error.code, error.status, error.publicMessage]).toEqual(['invalid_arguments', 400, message])
  })

  it('returns the message of an InputError, also of another copy of the contract', async () => {
    // The query makes it a module of its own, as in a plugin that brings its own copy of the contract.
    const path = '../../core/plugin/errors.ts?copy'
    const copy = (await import(path)) as { InputError: typeof InputError }
    expect(copy.InputError).not.toBe(InputError)
    for (const Thrown of [InputError, copy.InputError]) {
      const { call } = await setUp({ execute: () => Promise.reject(new Thrown('args.city is not a city.')) })
      const refused = await refusal(call())
      expect([refused.code, refused.publicMessage]).toEqual(['invalid_arguments', 'args.city is not a city.'])
    }
  })

  it.each<[string, () => unknown]>([
    [
      'throws',
      () => {
        throw new Error('canary-4711')
      },
    ],
    ['rejects', () => Promise.reject(new TypeError('canary-4711'))],
    ['rejects with what is no error', () => Promise.reject('canary-4711')],
    ['rejects with nothing', () => Promise.reject(undefined)],
  ])('fails without details if the tool %s', async (_what, execute) => {
    const { call, context } = await setUp({ execute })
    const error = await refusal(call())
    expect([error.code, error.status, error.publicMessage]).toEqual([
      'tool_failed',
      500,
      "The tool failed. See the gateway's log.",
    ])
    expect(error.message).toBe(error.publicMessage)
    expect(JSON.stringify(context.logged)).not.toContain('canary')
    expect(context.logged).toMatchObject([{ level: 'error', fields: { tool: 'probe', toolset: 'probes' } }])
  })

  it('logs where a tool threw', async () => {
    const { call, context } = await setUp({ execute: () => Promise.reject(new RangeError('canary')) })
    await refusal(call())
    expect(context.logged[0]?.fields).toMatchObject({
      reason: 'RangeError',
      at: expect.stringContaining('invoke.test.ts'),
    })
  })
})

describe('the log line of a tool that threw', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 10.0.0.7:443'), {
    code: 'ECONNREFUSED',
    syscall: 'connect',
  })
  const failed = new TypeError('fetch failed', { cause: refused })
  const text = Type.Object({ text: Type.String() })
  const logOf = async (setup: Setup, args: object = {}) => {
    const { call, context } = await setUp(setup)
    await refusal(call({ args }))
    return context.logged[0]?.fields
  }

  it('has class, message, place and cause if the tool reads nothing private', async () => {
    for (const effects of [[], ['sends']] as const)
      expect(await logOf({ effects, execute: () => Promise.reject(failed) })).toMatchObject({
        tool: 'probe',
        toolset: 'probes',
        reason: 'TypeError: fetch failed',
        at: expect.stringContaining('invoke.test.ts'),
        cause: 'Error: connect ECONNREFUSED 10.0.0.7:443',
      })
  })

  it.each<[string, readonly ToolEffect[] | undefined]>([
    ['declares nothing', undefined],
    ['reads private data', ['reads-private']],
    ['does both', ['sends', 'reads-private']],
  ])('has class, place and the code of the cause if the tool %s', async (_what, effects) => {
    const fields = await logOf({ ...(effects && { effects }), execute: () => Promise.reject(failed) })
    expect(fields).toMatchObject({
      reason: 'TypeError',
      at: expect.stringContaining('invoke.test.ts'),
      cause: 'connect ECONNREFUSED',
    })
  })

  it.each<[string, (args: { text: string }) => unknown]>([
    ['repeats an argument', ({ text }) => Promise.reject(new Error(`no such user: ${text}`))],
    ['quotes the beginning of an argument', ({ text }) => JSON.parse(text)],
    ['repeats an argument in its cause', ({ text }) => Promise.reject(new Error('x', { cause: new Error(text) }))],
    ['repeats an argument like a place', ({ text }) => Promise.reject(new Error(`x\n    at ${text}\n    at ${text}`))],
  ])('has no text that %s', async (_what, execute) => {
    const fields = await logOf({ effects: [], args: text, execute }, { text: 'canary-4711 sings all day' })
    expect(JSON.stringify(fields)).not.toContain('canary')
  })
})

describe('the deadline of a call', () => {
  it('ends the call even if the tool ignores its signal, and does not affect others', async () => {
    const signals: AbortSignal[] = []
    const { call, context } = await setUp({
      timeoutMs: 20,
      args: Type.Object({ hang: Type.Boolean() }),
      execute: ({ hang }: { hang: boolean }, { signal }) => {
        signals.push(signal)
        return hang ? new Promise(() => {}) : 'quick'
      },
    })
    const [hung, quick] = await Promise.all([refusal(call({ args: { hang: true } })), call({ args: { hang: false } })])
    expect([hung.code, hung.status, quick]).toEqual(['tool_timeout', 504, 'quick'])
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, false])
    expect(context.logged).toMatchObject([{ level: 'warn', fields: { tool: 'probe', type: 'tool_timeout' } }])
  })

  it('is not the only end: the caller may abort, and the gateway may stop', async () => {
    const entered = new EventTarget()
    const execute = () => {
      entered.dispatchEvent(new Event('in'))
      return new Promise(() => {})
    }
    const { call, context } = await setUp({ execute })
    const [gone, reason] = [new AbortController(), new Error('gone')]
    const inside = once(entered, 'in')
    const first = call({ signal: gone.signal })
    await inside
    gone.abort(reason)
    await expect(first).rejects.toBe(reason)
    const again = once(entered, 'in')
    const second = refusal(call())
    await again
    context.abort()
    expect((await second).code).toBe('shutting_down')
    expect((await refusal(call())).code).toBe('shutting_down')
  })

  it('leaves no timer and no listener behind', async () => {
    const { call, context } = await setUp()
    const { signal } = new AbortController()
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
    const before = timers()
    await call({ signal })
    expect([timers(), getEventListeners(signal, 'abort'), getEventListeners(context.signal, 'abort')]).toEqual([
      before,
      [],
      [],
    ])
  })

  it('ignores a failure that comes too late', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    const { call } = await setUp({ timeoutMs: 5, execute: () => promise })
    expect((await refusal(call())).code).toBe('tool_timeout')
    reject(new Error('late'))
    await new Promise(setImmediate)
  })
})

describe('the result of a tool', () => {
  it.each<[unknown, Json]>([
    [undefined, null],
    [null, null],
    [0, 0],
    ['', ''],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [{ a: undefined, b: () => 1, c: Number.NaN }, { c: null }],
    [
      [1, [2, { three: '3' }]],
      [1, [2, { three: '3' }]],
    ],
  ])('%s becomes %j', async (value, json) => {
    const { call } = await setUp({ execute: () => value })
    expect(await call()).toEqual(json)
  })

  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  const trap = {
    get value() {
      throw new Error('canary-4711')
    },
  }
  it.each<[string, unknown]>([
    ['a cycle', cycle],
    ['a function', () => 1],
    ['a symbol', Symbol('s')],
    ['a getter that throws', trap],
    ['50 MB of text', 'x'.repeat(50 * 1024 * 1024)],
    ['one character too much', 'x'.repeat(maxResultLength - 1)],
  ])('of %s makes only this call fail', async (_what, value) => {
    const { call, context } = await setUp({ execute: () => value })
    const error = await refusal(call())
    expect([error.code, error.publicMessage]).toEqual(['tool_failed', "The tool failed. See the gateway's log."])
    expect(JSON.stringify(context.logged)).not.toContain('canary')
  })

  it('may be as long as the limit', async () => {
    const { call } = await setUp({ execute: () => 'x'.repeat(maxResultLength - 2) })
    expect(await call()).toHaveLength(maxResultLength - 2)
  })

  it('is a copy, so later changes of the object have no effect', async () => {
    const value = { n: 1 }
    const { call } = await setUp({ execute: () => value })
    const result = await call()
    value.n = 2
    expect(result).toEqual({ n: 1 })
  })
})
