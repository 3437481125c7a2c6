// Tests the rule of two: an agent with external content may read private data or send data out, but not both.
// test/long/rule-of-two.test.ts tries all pairs of tools in every way.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { answersIn, type Call, orders } from '../doubles/obedient.ts'
import { startChat } from '../doubles/chat.ts'
import { messagesOf, startModel, systemOf } from '../doubles/model.ts'
import type { WireRequest } from '../doubles/wire.ts'
import { gatewayToken, hookToken, type RunningGateway, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import {
  closedCalls,
  hook,
  type Outcome,
  outcomeOf,
  plugin,
  samplePairs,
  type Setup,
  spawn,
  start,
  stranger,
  theftPairs,
  tryInOneStep,
  tryInSubagents,
  tryInTwoRuns,
  tryInTwoSteps,
} from './rule-of-two-pairs.ts'

/** One call of each kind that is available to webhook runs, and one that is not. */
const reading: Call = { tool: 'read', args: { path: 'secret.txt' } }
const stealing: Call = { tool: 'message', args: { text: 'stolen', channel: 'pager', to: 'stranger' } }
const fetching: Call = { tool: 'web_fetch', args: { url: stranger } }
const running: Call = { tool: 'exec', args: { command: 'true' } }

/** The gateway of the tests that need no person and no settings of their own. Each has sessions of its own. */
const shared = share(() => start())

describe('a pair of tools in a webhook session', { timeout: 120_000 }, () => {
  it('obeys the rule in two steps of one run', () => tryInTwoSteps(shared().gateway, samplePairs))
  it('obeys the rule in one step: one of two exclusive calls is made', () => tryInOneStep(shared().gateway, theftPairs))
  it('obeys the rule across two runs, and after a restart', () => tryInTwoRuns(theftPairs))
  it('obeys the rule across a session and its subagent, in both orders', () =>
    tryInSubagents(shared().gateway, theftPairs))

  it.each([reading, stealing])(
    'gets nothing from the tools that are closed to it, before and after $tool',
    async (open) => {
      const answers = await hook(shared().gateway, `hook:closed-${open.tool}`, closedCalls, [open], closedCalls)
      const closed = closedCalls.map((): Outcome => 'unavailable')
      expect(answers).toEqual([...closed, 'done', ...closed])
    },
  )
})

/** The outcome of the call that this session's subagent made. */
async function subagentOf({ get }: Pick<RunningGateway, 'get'>, session: string): Promise<Outcome> {
  const initiator = `agent:main:${session}`
  const find = async () =>
    (await get('/api/runs?kind=subagent&limit=200')).body.items.find(
      (run: { origin: { name: string } }) => run.origin.name === initiator,
    )
  await expect.poll(async () => (await find())?.status, { timeout: 30_000, interval: 20 }).toBe('succeeded')
  return outcomeOf(answersIn((await find()).reply)[0] ?? '')
}

/** Starts a gateway on which a person chats with the agent in its main session. */
async function startWithPerson(changes: Setup = {}) {
  const [chat, dir] = [await startChat(), temporaryFolder()]
  const { plugins, channels } = chat.config(dir, { 'chat-native': { allowFrom: ['ann'] } })
  const started = await start({ ...changes, channels, plugins: ['./probes.mjs', ...plugins] }, dir)
  const say = async (...steps: readonly (readonly Call[])[]): Promise<Outcome[]> => {
    const { length } = await runsOf(started.gateway, 'channel')
    await chat.say({ text: orders(...steps) })
    await expect
      .poll(
        async () => (await runsOf(started.gateway, 'channel')).filter(({ status }) => status === 'succeeded').length,
      )
      .toBe(length + 1)
    return answersIn((await runsOf(started.gateway, 'channel'))[0]!.reply).map(outcomeOf)
  }
  return { ...started, chat, say }
}

const runsOf = async (
  { get }: Pick<RunningGateway, 'get'>,
  kind: string,
): Promise<{ id: string; status: string; reply: string; sessionKey: string }[]> =>
  (await get(`/api/runs?kind=${kind}&limit=200`)).body.items

/** An hour that has not begun and does not begin during the tests. */
function laterToday(): { start: string; end: string; timezone: string } {
  const hour = (new Date().getUTCHours() + 12) % 24
  const text = (value: number) => `${String(value).padStart(2, '0')}:00`
  return { start: text(hour), end: text(hour + 1), timezone: 'UTC' }
}

const offered = ({ body }: WireRequest): string[] =>
  (body['tools'] as { function: { name: string } }[]).map(({ function: { name } }) => name)
const event = { text: 'The build has failed.', mode: 'next-heartbeat' }

describe('a turn of a person that renders waiting events of a webhook', () => {
  const shared = share(() => startWithPerson())

  it('is restricted like a webhook run, and its prompt says so', async () => {
    const { gateway, model, say } = shared()
    const { length } = model.requests
    await gateway.post('/hooks/wake', event)
    const answers = await say(
      [reading],
      [stealing, fetching, running],
      [{ tool: 'message', args: { text: 'For you.' } }],
    )
    expect(answers).toEqual(['done', 'withheld', 'withheld', 'unavailable', 'done'])
    const prompt = systemOf(await model.request(length))
    expect(prompt).toContain(
      'This conversation holds text from webhook wake, so this turn is restricted. ' +
        'These tools are withheld: cron, edit, exec, gateway, sessions_history, sessions_list, write.',
    )
    expect(prompt).toContain('it works in a new conversation (/new)')
    expect(offered(await model.request(length))).not.toContain('exec')
  })

  it('cannot send its own conversation out, even before any tool has read something', async () => {
    const { gateway, say } = shared()
    await gateway.post('/hooks/wake', event)
    expect(await say([stealing], [fetching])).toEqual(['withheld', 'withheld'])
  })

  it('restricts the turns that see the event in the history, until a new conversation begins', async () => {
    const { gateway, model, chat, say } = shared()
    await gateway.post('/hooks/wake', event)
    await say([reading])
    expect(await say([reading], [stealing, running])).toEqual(['done', 'withheld', 'unavailable'])
    await chat.say({ text: '/new' })
    expect(await say([reading], [stealing, running])).toEqual(['done', 'done', 'done'])
    const { requests } = model
    expect(systemOf(requests.at(-1)!).includes('withheld')).toBe(false)
  })

  it('can also be a heartbeat, or a message of a client to the main session', async () => {
    const { gateway, model } = shared()
    const { length } = model.requests
    await gateway.post('/hooks/wake', { text: `${orders([stealing])} The build has failed.` })
    expect(systemOf(await model.request(length))).toContain('this turn is restricted')
    await expect.poll(async () => (await runsOf(gateway, 'heartbeat'))[0]?.status).toBe('succeeded')
    expect(answersIn((await runsOf(gateway, 'heartbeat'))[0]!.reply).map(outcomeOf)).toEqual(['withheld'])
    await gateway.post('/hooks/wake', event)
    const say = async () => {
      const args = { sessionKey: 'main', message: orders([stealing]) }
      const { body } = await gateway.post(
        '/tools/invoke',
        { tool: 'sessions_send', args },
        { authorization: `Bearer ${gatewayToken}` },
      )
      return answersIn(body.result.reply).map(outcomeOf)
    }
    expect(await say()).toEqual(['withheld'])
  })
})

describe('a turn of a person whose agent has subagents', () => {
  // The end of a subagent rings for a heartbeat, which would read the waiting events before the person's next turn.
  const shared = share(() =>
    startWithPerson({
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0, activeHours: laterToday() } } },
    }),
  )

  it('is not restricted by trusted events, such as the result of its own subagent', async () => {
    const { gateway, say } = shared()
    await say([spawn(reading)])
    await expect.poll(async () => (await runsOf(gateway, 'subagent'))[0]?.status).toBe('succeeded')
    expect(await say([reading], [stealing])).toEqual(['done', 'done'])
  })

  it('also restricts its subagents, and the turn that reads their result', async () => {
    const { gateway, say } = shared()
    await gateway.post('/hooks/wake', event)
    expect(await say([spawn(stealing)])).toEqual(['done'])
    expect(await subagentOf(gateway, 'main')).toBe('withheld')
    expect(await say([stealing])).toEqual(['withheld'])
  })
})

describe('a message that a webhook run sends to another session', () => {
  const shared = share(() => startWithPerson())

  const sending = (sessionKey: string, ...steps: readonly (readonly Call[])[]): Call => ({
    tool: 'sessions_send',
    args: { sessionKey, message: orders(...steps), waitSeconds: 30 },
  })

  it('restricts the turn that reads it, and later ones that see it', async () => {
    const { gateway, say } = shared()
    await say([reading])
    await hook(gateway, 'hook:sends', [
      sending('main', [stealing], [{ tool: 'message', args: { text: 'For the people of this session.' } }], [reading]),
    ])
    const [sent] = await runsOf(gateway, 'chat')
    expect(answersIn(sent!.reply).map(outcomeOf)).toEqual(['withheld', 'withheld', 'done'])
    expect(await hook(gateway, 'hook:sends', [stealing])).toEqual(['withheld'])
    expect(await say([reading], [stealing])).toEqual(['done', 'withheld'])
  })

  it('is external content where its session is read, and restricts the reading turn', async () => {
    const { gateway, chat, say } = shared()
    await hook(gateway, 'hook:read', [reading])
    await say()
    await chat.say({ text: '/new' })
    const history: Call = { tool: 'sessions_history', args: { sessionKey: 'hook:read' } }
    expect(await say([stealing], [history], [stealing], [running])).toEqual(['done', 'done', 'withheld', 'unavailable'])
    expect(await say([sending('hook:read', [reading])], [stealing])).toEqual(['done', 'withheld'])
  })

  it('restricts the turn that has read it also in a later attempt', async () => {
    const [model, dir] = [await startModel(), temporaryFolder()]
    const outage = Array.from({ length: 3 }, () => ({ status: 503, headers: { 'retry-after-ms': '1' } }))
    const history = { tool: 'sessions_history', args: { sessionKey: 'agent:main:hook:a' } }
    model.script({ text: 'noted' }, { text: 'I have heard it.' }, history, ...outage, stealing, { text: 'done' })
    writeFileSync(join(dir, 'probes.mjs'), plugin)
    const { post } = await startGateway(
      {
        plugins: ['./probes.mjs'],
        providers: model.providers,
        gateway: { port: 0, auth: { token: gatewayToken }, tools: { allow: ['sessions_send'] } },
        hooks: { enabled: true, allowRequestSessionKey: true, token: hookToken },
        agents: {
          defaults: {
            model: 'double/m',
            heartbeat: { every: 0 },
            retry: { initialDelaySeconds: 0.05, maxDelaySeconds: 0.1 },
          },
          main: {},
          reader: {},
        },
        channels: { pager: {} },
      },
      dir,
    )
    await post(
      '/hooks/agent',
      { message: 'Injected.', sessionKey: 'hook:a', deliver: false, wakeMode: 'next-heartbeat' },
      { prefer: 'wait=60' },
    )
    const say = (message: string) =>
      post(
        '/tools/invoke',
        { tool: 'sessions_send', args: { sessionKey: 'agent:reader:main', message, waitSeconds: 60 } },
        { authorization: `Bearer ${gatewayToken}` },
      )
    await say('What is new?')
    expect((await say('Read it, and tell the stranger.')).body.result.reply).toBe('done')
    const answers = messagesOf(await model.request(7)).flatMap(({ role, content }) =>
      role === 'tool' ? [content] : [],
    )
    expect(answers.map(outcomeOf)).toEqual(['done', 'withheld'])
  })

  it.each([
    ['after a turn of its own', 'say'],
    ['while events are waiting', 'event'],
  ])('cannot pass on what the agent of a person says to its session %s', async (_when, how) => {
    const session = `hook:${how}`
    const { gateway, say } = shared()
    await hook(gateway, session, [{ tool: 'session_status', args: {} }])
    if (how === 'say') await say()
    await say([sending(session, [stealing])])
    expect(answersIn((await runsOf(gateway, 'chat'))[0]!.reply).map(outcomeOf)).toEqual(['withheld'])
    expect(await hook(gateway, session, [stealing])).toEqual(['withheld'])
  })
})

describe('the operator', () => {
  const operator = { authorization: `Bearer ${gatewayToken}` }
  const invoke = ({ post }: Pick<RunningGateway, 'post'>, { tool, args }: Call, sessionKey: string) =>
    post('/tools/invoke', { tool, args, sessionKey }, operator)

  it('is not restricted over HTTP, and changes nothing for the session', async () => {
    const { gateway } = shared()
    await hook(gateway, 'hook:http', [reading])
    expect((await invoke(gateway, stealing, 'hook:http')).status).toBe(200)
    expect((await invoke(gateway, reading, 'hook:http')).status).toBe(200)
    expect(await hook(gateway, 'hook:http', [stealing], [reading])).toEqual(['withheld', 'done'])
  })

  it('lifts the rule with tools.byOrigin.hook.allow, for all agents or for one', async () => {
    const allow = ['read', 'message', 'probe', 'exec']
    for (const changes of [
      { tools: { byOrigin: { hook: { allow } } } },
      { agents: { main: { tools: { byOrigin: { hook: { allow } } } } } },
    ]) {
      const { gateway } = await start(changes)
      expect(await hook(gateway, 'hook:a', [reading], [stealing], [{ tool: 'probe', args: {} }, running])).toEqual([
        'done',
        'done',
        'done',
        'done',
      ])
    }
  })

  it('sets the effects of a tool with tools.effects, by name, pattern or toolset', async () => {
    const { gateway } = await start({
      tools: { effects: { probes: ['reads-private'], probe_odd: [], 'probe_s*': ['sends'] } },
    })
    const probe = (tool: string): Call => ({ tool, args: {} })
    expect(
      await hook(gateway, 'hook:a', [probe('probe_odd')], [probe('probe')], [probe('probe_sends')], [stealing]),
    ).toEqual(['done', 'done', 'done', 'withheld'])
  })

  it('sees the effects of a tool, and the current verdict of the rule for a session', async () => {
    const { gateway } = shared()
    const { items } = (await gateway.get('/tools')).body
    const effectsOf = (tool: string) => items.find(({ name }: { name: string }) => name === tool).effects
    expect(['read', 'message', 'write', 'probe'].map(effectsOf)).toEqual([
      ['reads-private'],
      'by-call',
      [],
      ['reads-private', 'sends'],
    ])
    const explain = async (tool: string, more: object = { origin: 'hook', sessionKey: 'hook:explained' }) =>
      (await gateway.post('/tools/explain', { tool, ...more }, operator)).body
    const ruleOf = async (tool: string) => {
      const { allowed, layers } = await explain(tool)
      return [allowed, layers.at(-1).verdict, layers.at(-1).rule]
    }
    await hook(gateway, 'hook:explained', [reading])
    expect(await ruleOf('read')).toEqual([true, 'none', undefined])
    expect(await ruleOf('message')).toEqual([true, 'none', 'depends on the call'])
    expect(await ruleOf('probe')).toEqual([false, 'deny', 'it may both read private things and send outward'])
    expect((await explain('exec')).layers.find(({ layer }: { layer: string }) => layer === 'origin').verdict).toBe(
      'deny',
    )
    expect((await explain('read', {})).layers.map(({ layer }: { layer: string }) => layer)).not.toContain('rule_of_two')
  })
})

describe('a dry run', () => {
  it('lists the tools that the rule would withhold, for a run and for the heartbeat', async () => {
    const { gateway } = shared()
    const dryRun = async () => {
      const [newest] = (await gateway.get('/api/requests?limit=1')).body.items
      return (
        await gateway.post(
          `/api/requests/${newest.id}/replay`,
          { dryRun: true },
          { authorization: `Bearer ${gatewayToken}` },
        )
      ).body
    }
    await hook(gateway, 'hook:dry-run', [reading])
    const withheld = ['probe']
    expect((await dryRun()).actions[0].withheld.toSorted()).toEqual(withheld)
    await gateway.post('/hooks/wake', event)
    expect((await dryRun()).heartbeat).toMatchObject({
      withheld: expect.arrayContaining(withheld),
      tools: expect.arrayContaining(['read', 'message']),
    })
  })
})
