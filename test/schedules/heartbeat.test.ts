// Tests heartbeats: what starts them, what the model reads, and what happens to the reply.
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { messagesOf, type ModelServer, startModel, systemOf } from '../doubles/model.ts'
import type { Answer as ModelAnswer } from '../doubles/wire.ts'
import { type Document, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const ok = { text: 'HEARTBEAT_OK' }

interface Setup {
  /** Overrides of `agents.defaults.heartbeat`. Without `every` there is no periodic heartbeat. */
  heartbeat?: Document
  /** The agents by id. `/hooks/<id>` wakes one. */
  agents?: Record<string, Document>
}

/** Starts a gateway whose agents use this model. Texts that are posted to `/hooks/events` wait for the next wake. */
async function start(
  model: ModelServer,
  { heartbeat, agents = {} }: Setup = {},
  { dir = temporaryFolder(), ...changes }: { dir?: string } & Document = {},
) {
  const mappings = [
    ...Object.keys(agents).map((agentId) => ({
      match: { path: agentId },
      action: 'wake',
      agentId,
      textTemplate: '{{ text }}',
    })),
    {
      match: { path: 'events' },
      action: 'wake',
      forEach: 'texts',
      textTemplate: '{{ item }}',
      wakeMode: 'next-heartbeat',
    },
  ]
  return await startGateway(
    {
      providers: model.providers,
      gateway: { drainSeconds: 0 },
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0, ...heartbeat } }, ...agents },
      hooks: { mappings },
      ...changes,
    },
    dir,
  )
}

type Started = Awaited<ReturnType<typeof start>>

function workspaceOf(dir: string, agent: string): string {
  const folder = join(dir, 'state', 'workspaces', agent)
  mkdirSync(folder, { recursive: true })
  return folder
}

const writeNotes = (dir: string, agent: string, notes: string): void =>
  writeFileSync(join(workspaceOf(dir, agent), 'HEARTBEAT.md'), notes)

/** Returns active hours that do not begin for the next five hours. */
function closedHours(): Document {
  const clock = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)
  return { start: clock(5), end: clock(6), timezone: 'UTC' }
}

const eventsOf = (prompt: string) => Array.from(prompt.matchAll(/\n---\n([\s\S]*?)\n<<<END/g), ([, text]) => text)

/** Without periodic heartbeats. A test that looks at a conversation or at deliveries has an agent of its own. */
const shared = share(async () => {
  const [model, chat, dir] = [await startModel(), await startChat(), temporaryFolder()]
  const agents = {
    main: { default: true, heartbeat: { target: 'last' } },
    hasty: { timeoutSeconds: 1 },
    small: { heartbeat: { model: 'double/small' } },
    ops: { heartbeat: { target: 'chat-native', to: 'ops' } },
    lobby: { heartbeat: { target: 'chat-native' } },
    calm: { heartbeat: { target: 'chat-native', to: 'the calm' } },
    reserved: {},
  }
  const plugged = chat.config(dir, {
    'chat-native': { defaultTo: 'lobby', allowFrom: ['ann'] },
    'chat-none': { allowFrom: ['ann'] },
  })
  return { chat, model, ...(await start(model, { agents }, { dir, ...plugged })) }
})

/** Scripts what the model of the shared gateway answers next. Returns its requests from there on. */
function script(...answers: ModelAnswer[]): Pick<ModelServer, 'prompt' | 'request'> {
  const { model } = shared()
  const before = model.requests.length
  model.script(...answers)
  return { prompt: (index) => model.prompt(before + index), request: (index) => model.request(before + index) }
}

describe('a wake', () => {
  it('starts a heartbeat that renders the waiting events, oldest first', async () => {
    const { post } = shared()
    const model = script(ok)
    await post('/hooks/wake', { text: 'one', mode: 'next-heartbeat' })
    await post('/hooks/wake', { text: 'two', mode: 'now' })
    const prompt = await model.prompt(0)
    expect(eventsOf(prompt)).toEqual(['one', 'two'])
    expect(prompt).toMatch(/Event of \d{4}-\d\d-\d\dT[\d:.]+Z:/)
    expect(prompt).toContain('answer HEARTBEAT_OK and nothing else')
  })

  it('counts once when several come within 250 ms', async () => {
    const model = await startModel()
    model.script(ok)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const { post } = await start(model)
    for (let index = 0; index < 5; index++) {
      await post('/hooks/wake', { text: `event ${index}` })
      await vi.advanceTimersByTimeAsync(50)
    }
    expect(eventsOf(await model.prompt(0))).toHaveLength(5)
  })

  it('during a heartbeat starts another one right after it, which renders no event again', async () => {
    const { post } = shared()
    const model = script(ok, ok)
    await post('/hooks/wake', { text: 'one' })
    await model.request(0)
    await post('/hooks/wake', { text: 'two' })
    expect(eventsOf(await model.prompt(1))).toEqual(['two'])
  })

  it('in a busy session waits, and renders only the events that are left', async () => {
    const [model, chat, dir] = [await startModel(), await startChat(), temporaryFolder()]
    model.script({ text: 'Hello.' }, ok)
    const { post } = await start(model, {}, { dir, ...chat.config(dir, { 'chat-native': { allowFrom: ['ann'] } }) })
    await post('/hooks/wake', { text: 'early', mode: 'next-heartbeat' })
    await chat.say({ text: 'Hi.' })
    await post('/hooks/wake', { text: 'late' })
    expect(eventsOf(await model.prompt(0))[0]).toBe('early')
    await chat.holds(1)
    const rendered = eventsOf(await model.prompt(0)).concat(
      eventsOf(await model.prompt(0)).includes('late') ? [] : eventsOf(await model.prompt(1)),
    )
    expect(rendered).toEqual(['early', 'late'])
  })

  it('survives a restart, also when the stop interrupted its heartbeat', async () => {
    const model = await startModel()
    model.script({ hang: true })
    model.otherwise(ok)
    const dir = temporaryFolder()
    const agents = { main: { default: true }, busy: {} }
    const closed = { ...agents, main: { ...agents.main, heartbeat: { activeHours: closedHours() } } }
    const before = await start(model, { agents: closed }, { dir })
    await before.post('/hooks/wake', { text: 'one', mode: 'next-heartbeat' })
    await before.post('/hooks/wake', { text: 'two' })
    await before.post('/hooks/busy', { text: 'three' })
    expect(eventsOf(await model.prompt(0))).toEqual(['three'])
    await before.gateway.close()
    expect(model.requests).toHaveLength(1)
    await start(model, { agents }, { dir })
    const rendered = [await model.prompt(1), await model.prompt(2)].map(eventsOf)
    expect(rendered.toSorted((a, b) => a.length - b.length)).toEqual([['three'], ['one', 'two']])
  })

  it('goes to the default agent in global scope', async () => {
    const model = await startModel()
    model.script(ok)
    const agents = {
      other: { systemPrompt: 'I am other.', heartbeat: { every: 0 } },
      main: { default: true, systemPrompt: 'I am main.' },
    }
    const { post } = await start(model, { agents }, { session: { scope: 'global' } })
    await post('/hooks/wake', { text: 'one' })
    expect(systemOf(await model.request(0))).toContain('I am main.')
  })
})

describe('events', () => {
  it('stay until a turn has succeeded', async () => {
    const { post, logged } = shared()
    const model = script({ status: 401 }, { hang: true }, ok)
    const ended = async (status: string) =>
      await expect
        .poll(() => logged.some((line) => line.includes('"agentId":"hasty"') && line.includes(`"status":"${status}"`)))
        .toBe(true)
    await post('/hooks/hasty', { text: 'one' })
    await ended('failed')
    await post('/hooks/hasty', { text: 'two' })
    expect(eventsOf(await model.prompt(1))).toEqual(['one', 'two'])
    await ended('timed_out')
    await post('/hooks/hasty', { text: 'three' })
    expect(eventsOf(await model.prompt(2))).toEqual(['one', 'two', 'three'])
  })

  it('are retried after a failed heartbeat, and immediately after a wake', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
    onTestFinished(() => void vi.useRealTimers())
    const model = await startModel()
    model.script({ status: 401 }, { status: 401 }, ok)
    const { post, logged } = await start(model)
    const failed = async (count: number) =>
      await expect.poll(() => logged.filter((line) => line.includes('"status":"failed"')).length).toBe(count)
    await post('/hooks/wake', { text: 'one' })
    await failed(1)
    await post('/hooks/wake', { text: 'two' })
    await failed(2)
    await vi.advanceTimersByTimeAsync(120_000)
    expect(eventsOf(await model.prompt(2))).toEqual(['one', 'two'])
  })

  it('are rendered in order in batches of 100, one heartbeat after the other', async () => {
    const { post } = shared()
    const model = script(ok, ok, ok)
    const texts = Array.from({ length: 220 }, (_, index) => `event ${index}`)
    await post('/hooks/events', { texts: texts.slice(0, 110) })
    await post('/hooks/events', { texts: texts.slice(110) })
    await post('/hooks/wake', { text: 'last' })
    await model.request(2)
    const batches = await Promise.all([0, 1, 2].map(async (index) => eventsOf(await model.prompt(index))))
    expect(batches.map(({ length }) => length)).toEqual([100, 100, 21])
    expect(batches.flat()).toEqual([...texts, 'last'])
  })

  it('that fill a batch are rendered alone', async () => {
    const { post } = shared()
    const model = script(ok, ok)
    await post('/hooks/wake', { text: 'x'.repeat(200_000), mode: 'next-heartbeat' })
    await post('/hooks/wake', { text: 'short' })
    await model.request(1)
    expect([eventsOf(await model.prompt(0)).length, eventsOf(await model.prompt(1))]).toEqual([1, ['short']])
  })

  it('are rendered for the model of heartbeat.model', async () => {
    const model = script(ok)
    await shared().post('/hooks/small', { text: 'one' })
    expect((await model.request(0)).body['model']).toBe('small')
  })
})

describe('the periodic heartbeat', () => {
  const unreadable: [what: string, agent: string, make: (file: string, dir: string) => unknown][] = [
    ['a pipe that nobody writes to', 'pipe', (file) => void execFileSync('mkfifo', [file])],
    [
      'a link out of the workspace',
      'link',
      (file, dir) => (
        writeFileSync(join(dir, 'outside'), 'a text from outside'),
        symlinkSync(join(dir, 'outside'), file)
      ),
    ],
    ['a link to a device', 'device', (file) => symlinkSync('/dev/zero', file)],
    ['a folder', 'folder', (file) => mkdirSync(file)],
  ]
  const notes = {
    main: 'Check main.',
    noted: '# Check the plant.\n',
    still: 'Check still.',
    blank: ' \n',
    slow: 'Check slow.',
    closed: 'Check, too.',
    huge: 'Check the plant. ',
  }

  const beating = share(async () => {
    const [model, dir] = [await startModel(), temporaryFolder()]
    model.otherwise(ok)
    for (const [agent, text] of Object.entries(notes)) writeNotes(dir, agent, text)
    truncateSync(join(workspaceOf(dir, 'huge'), 'HEARTBEAT.md'), 100 * 1024 ** 3)
    for (const [, agent, make] of unreadable) make(join(workspaceOf(dir, agent), 'HEARTBEAT.md'), dir)
    const agents = {
      main: { default: true },
      noted: { heartbeat: { prompt: 'Is the plant watered?' } },
      still: {},
      blank: { heartbeat: {} },
      slow: { heartbeat: { every: '2s' } },
      closed: { heartbeat: { activeHours: closedHours() } },
      huge: { heartbeat: {} },
      ...Object.fromEntries(unreadable.map(([, agent]) => [agent, { heartbeat: {} }])),
    }
    return { model, ...(await start(model, { heartbeat: { every: '1s', prompt: 'Look.' }, agents }, { dir })) }
  })

  const requestsOf = (agent: string) =>
    beating().model.requests.filter((request) => systemOf(request).startsWith(`You are ${agent},`))

  const promptsOf = (agent: string) => requestsOf(agent).map((request) => messagesOf(request).at(-1)!.content)

  /** Waits until the model has received this many requests for an agent. */
  const asked = async (agent: string, count: number) =>
    await expect.poll(() => requestsOf(agent).length).toBeGreaterThanOrEqual(count)

  it.each([
    ['reloaded', async ({ gateway }: Started) => void (await gateway.reload())],
    ['restarted', async ({ gateway }: Started) => await gateway.close()],
  ])('comes in time although the gateway is %s more often', async (how, interrupt) => {
    const [model, dir] = [await startModel(), temporaryFolder()]
    model.otherwise(ok)
    writeNotes(dir, 'main', 'Check main.')
    const begin = () => start(model, { heartbeat: { every: '2s' } }, { dir })
    let started = await begin()
    await expect
      .poll(
        async () => {
          await interrupt(started)
          if (how === 'restarted') started = await begin()
          return model.requests.length
        },
        { interval: 200 },
      )
      .toBeGreaterThan(0)
  })

  it('renders the waiting events', async () => {
    await beating().post('/hooks/wake', { text: 'one', mode: 'next-heartbeat' })
    await expect.poll(() => promptsOf('main').flatMap(eventsOf)).toEqual(['one'])
  })

  it('renders the current HEARTBEAT.md and heartbeat.prompt', async () => {
    await asked('noted', 1)
    expect(promptsOf('noted')[0]).toBe(
      'Notes for periodic checks (HEARTBEAT.md):\n# Check the plant.\n\nIs the plant watered?',
    )
    writeNotes(beating().dir, 'noted', '# Check the cat.')
    await expect.poll(() => promptsOf('noted').at(-1)).toContain('# Check the cat.')
  })

  it.each(unreadable)('runs without notes and logs a warning when HEARTBEAT.md is %s', async (_what, agent) => {
    const { post, logged } = beating()
    const warnings = () =>
      logged.filter((line) => line.includes('HEARTBEAT.md cannot be read') && line.includes(`"agentId":"${agent}"`))
    await expect.poll(warnings).toHaveLength(1)
    await post(`/hooks/${agent}`, { text: 'something new' })
    await asked(agent, 1)
    const [prompt] = promptsOf(agent)
    expect(eventsOf(prompt!)).toEqual(['something new'])
    expect(prompt).not.toMatch(/a text from outside|HEARTBEAT\.md/)
  })

  it('reads only the beginning of a huge HEARTBEAT.md', async () => {
    await asked('huge', 1)
    const [prompt] = promptsOf('huge')
    expect(prompt).toContain('Check the plant.')
    expect(prompt!.length).toBeLessThan(70_000)
    writeNotes(beating().dir, 'huge', '')
  })

  it('calls no model without events and with blank notes', async () => {
    // This agent's heartbeat comes after the other's, which by then has passed without a model call.
    await asked('slow', 1)
    expect(requestsOf('blank')).toEqual([])
  })

  it('runs for the default agent and for agents with a heartbeat section', async () => {
    await asked('slow', 1)
    expect(promptsOf('main')[0]).toMatch(/Check main\.\n\nLook\.$/)
    expect(promptsOf('slow')[0]).toMatch(/Check slow\.\n\nLook\.$/)
    expect(promptsOf('still')).toEqual([])
  })

  it('is delayed by active hours, as are wakes and their events', async () => {
    await beating().post('/hooks/closed', { text: 'one' })
    // One of these heartbeats at least is a second later than the wake.
    await asked('main', requestsOf('main').length + 2)
    expect(requestsOf('closed')).toEqual([])
  })

  it('leaves no trace when its reply only acknowledges and no event was rendered', async () => {
    await asked('slow', 2)
    expect(messagesOf(requestsOf('slow')[1]!).map(({ role }) => role)).toEqual(['system', 'user'])
  })
})

describe('the reply of a heartbeat', () => {
  /** Returns the messages to this recipient, when there is one. */
  const sentTo = async (to: string) => {
    const sent = () => shared().chat.held.filter((message) => message.to === to)
    await expect.poll(sent).not.toEqual([])
    return sent()
  }

  it('goes to heartbeat.target and heartbeat.to', async () => {
    script({ text: 'The disk is full.' })
    await shared().post('/hooks/ops', { text: 'one' })
    expect(await sentTo('ops')).toMatchObject([{ channel: 'chat-native', text: 'The disk is full.' }])
  })

  it("goes to the channel's defaultTo when there is no heartbeat.to", async () => {
    script({ text: 'The disk is full.' })
    await shared().post('/hooks/lobby', { text: 'one' })
    expect(await sentTo('lobby')).toMatchObject([{ text: 'The disk is full.' }])
  })

  it('goes to the last route when the target is "last"', async () => {
    const { post, chat } = shared()
    script({ text: 'Hello Ann.' }, { text: 'The disk is full.' })
    await chat.say({ to: 'room 1' }, 'chat-none')
    await sentTo('room 1')
    await post('/hooks/wake', { text: 'one' })
    await expect
      .poll(() => sentTo('room 1'))
      .toMatchObject([{ text: 'Hello Ann.' }, { channel: 'chat-none', text: 'The disk is full.' }])
  })

  it('is not delivered by default, but stays in the conversation', async () => {
    const { post, chat } = shared()
    const model = script({ text: 'The cellar is dry.' }, ok)
    await post('/hooks/reserved', { text: 'one' })
    await model.request(0)
    await post('/hooks/reserved', { text: 'two' })
    const messages = messagesOf(await model.request(1))
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(JSON.stringify(messages)).toContain('The cellar is dry.')
    expect(chat.attempts.filter(({ text }) => text.includes('The cellar is dry.'))).toEqual([])
  })

  it('is not delivered when it only acknowledges', async () => {
    const { post } = shared()
    const model = script({ text: '**HEARTBEAT_OK** All quiet.' }, { text: 'The disk is full.' })
    await post('/hooks/calm', { text: 'one' })
    await model.request(0)
    await post('/hooks/calm', { text: 'two' })
    expect((await sentTo('the calm'))[0]!.text).toBe('The disk is full.')
  })

  it('stays in the conversation with the rendered events, even if it only acknowledges', async () => {
    const { post, chat } = shared()
    const model = script({ text: '**HEARTBEAT_OK** All quiet.' }, { text: 'The build failed.' })
    await post('/hooks/wake', { text: 'The build has failed.' })
    await model.request(0)
    await chat.say({ text: 'What is new?', to: 'room 2' }, 'chat-none')
    const messages = messagesOf(await model.request(1)).slice(-3)
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
    expect(messages[0]!.content).toContain('The build has failed.')
    await sentTo('room 2')
  })
})
