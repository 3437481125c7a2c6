// Tests heartbeats: what starts them, what the model reads, and what happens to the reply.
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { messagesOf, type ModelServer, startModel, systemOf } from '../doubles/model.ts'
import { type Document, startGateway, temporaryFolder } from '../helpers.ts'

const ok = { text: 'HEARTBEAT_OK' }

interface Setup {
  /** Overrides of `agents.defaults.heartbeat`. Without `every` there is no periodic heartbeat. */
  heartbeat?: Document
  /** Added to the section `agents`. */
  agents?: Document
  /** HEARTBEAT.md of the default agent. */
  notes?: string
}

/** Returns a configuration whose agent uses this model. */
function configure(model: ModelServer, { heartbeat, agents }: Setup): Document {
  return {
    providers: model.providers,
    gateway: { drainSeconds: 0 },
    agents: { defaults: { model: 'double/m', heartbeat: { every: 0, ...heartbeat } }, ...agents },
  }
}

async function start(
  model: ModelServer,
  { notes, ...setup }: Setup = {},
  { dir = temporaryFolder(), ...changes }: { dir?: string } & Document = {},
) {
  if (notes !== undefined) writeNotes(dir, 'main', notes)
  return await startGateway({ ...configure(model, setup), ...changes }, dir)
}

function writeNotes(dir: string, agent: string, notes: string): void {
  const folder = join(dir, 'state', 'workspaces', agent)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'HEARTBEAT.md'), notes)
}

/** Returns active hours that do not begin for the next five hours. */
function closedHours(): Document {
  const clock = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)
  return { start: clock(5), end: clock(6), timezone: 'UTC' }
}

const eventsOf = (prompt: string) => Array.from(prompt.matchAll(/\n---\n([\s\S]*?)\n<<<END/g), ([, text]) => text)

describe('a wake', () => {
  it('starts a heartbeat that renders the waiting events, oldest first', async () => {
    const model = await startModel()
    model.script(ok)
    const { post } = await start(model)
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
    const model = await startModel()
    model.script(ok, ok)
    const { post } = await start(model)
    await post('/hooks/wake', { text: 'one' })
    await model.request(0)
    await post('/hooks/wake', { text: 'two' })
    expect(eventsOf(await model.prompt(1))).toEqual(['two'])
  })

  it('in a busy session waits, and renders only the events that are left', async () => {
    const model = await startModel()
    const chat = await startChat()
    const dir = temporaryFolder()
    model.script({ text: 'Hello.' }, ok)
    const { post } = await startGateway(
      { ...configure(model, {}), ...chat.config(dir, { 'chat-native': { allowFrom: ['*'] } }) },
      dir,
    )
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

  it('survives a restart', async () => {
    const model = await startModel()
    model.script(ok)
    const dir = temporaryFolder()
    const before = await start(model, { heartbeat: { activeHours: closedHours() } }, { dir })
    await before.post('/hooks/wake', { text: 'one', mode: 'next-heartbeat' })
    await before.post('/hooks/wake', { text: 'two' })
    await before.gateway.close()
    await start(model, {}, { dir })
    expect(eventsOf(await model.prompt(0))).toEqual(['one', 'two'])
  })

  it('whose heartbeat was interrupted by a stop is served after the restart', async () => {
    const model = await startModel()
    model.script({ hang: true }, ok)
    const dir = temporaryFolder()
    const before = await start(model, {}, { dir })
    await before.post('/hooks/wake', { text: 'one' })
    await model.request(0)
    await before.gateway.close()
    await start(model, {}, { dir })
    expect(eventsOf(await model.prompt(1))).toEqual(['one'])
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
    const model = await startModel()
    model.script({ status: 400 }, { hang: true }, ok)
    const { post, logged } = await start(model, { agents: { main: { timeoutSeconds: 1 } } })
    await post('/hooks/wake', { text: 'one' })
    await model.request(0)
    await expect.poll(() => logged.some((line) => line.includes('"status":"failed"'))).toBe(true)
    await post('/hooks/wake', { text: 'two' })
    expect(eventsOf(await model.prompt(1))).toEqual(['one', 'two'])
    await expect.poll(() => logged.some((line) => line.includes('"status":"timed_out"'))).toBe(true)
    await post('/hooks/wake', { text: 'three' })
    expect(eventsOf(await model.prompt(2))).toEqual(['one', 'two', 'three'])
  })

  it('are retried after a failed heartbeat, and immediately after a wake', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true })
    onTestFinished(() => void vi.useRealTimers())
    const model = await startModel()
    model.script({ status: 400 }, { status: 400 }, ok)
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
    const model = await startModel()
    model.script(ok, ok, ok)
    const { post } = await start(model)
    for (let index = 0; index < 220; index++)
      await post('/hooks/wake', { text: `event ${index}`, mode: 'next-heartbeat' })
    await post('/hooks/wake', { text: 'last' })
    await model.request(2)
    const batches = await Promise.all([0, 1, 2].map(async (index) => eventsOf(await model.prompt(index))))
    expect(batches.map(({ length }) => length)).toEqual([100, 100, 21])
    expect(batches.flat()).toEqual([...Array.from({ length: 220 }, (_, index) => `event ${index}`), 'last'])
  })

  it('that fill a batch are rendered alone', async () => {
    const model = await startModel()
    model.script(ok, ok)
    const { post } = await start(model)
    await post('/hooks/wake', { text: 'x'.repeat(200_000), mode: 'next-heartbeat' })
    await post('/hooks/wake', { text: 'short' })
    await model.request(1)
    expect([eventsOf(await model.prompt(0)).length, eventsOf(await model.prompt(1))]).toEqual([1, ['short']])
  })
})

describe('the periodic heartbeat', () => {
  it('renders the waiting events', async () => {
    const model = await startModel()
    model.script(ok)
    const { post } = await start(model, { heartbeat: { every: '1s' } })
    await post('/hooks/wake', { text: 'one', mode: 'next-heartbeat' })
    expect(eventsOf(await model.prompt(0))).toEqual(['one'])
  })

  it('renders the current HEARTBEAT.md and heartbeat.prompt', async () => {
    const model = await startModel()
    model.script(ok, ok)
    const dir = temporaryFolder()
    await start(
      model,
      { heartbeat: { every: '1s', prompt: 'Is the plant watered?' }, notes: '# Check the plant.\n' },
      { dir },
    )
    expect(await model.prompt(0)).toBe(
      'Notes for periodic checks (HEARTBEAT.md):\n# Check the plant.\n\nIs the plant watered?',
    )
    writeNotes(dir, 'main', '# Check the cat.')
    expect(await model.prompt(1)).toContain('# Check the cat.')
    writeNotes(dir, 'main', '')
  })

  it.each<[string, (file: string, dir: string) => unknown]>([
    ['a pipe that nobody writes to', (file) => void execFileSync('mkfifo', [file])],
    [
      'a link out of the workspace',
      (file, dir) => (
        writeFileSync(join(dir, 'outside'), 'a text from outside'),
        symlinkSync(join(dir, 'outside'), file)
      ),
    ],
    ['a link to a device', (file) => symlinkSync('/dev/zero', file)],
    ['a folder', (file) => mkdirSync(file, { recursive: true })],
  ])('runs without notes and logs a warning when HEARTBEAT.md is %s', async (_what, make) => {
    const model = await startModel()
    model.script(ok)
    const dir = temporaryFolder()
    const folder = join(dir, 'state', 'workspaces', 'main')
    mkdirSync(folder, { recursive: true })
    make(join(folder, 'HEARTBEAT.md'), dir)
    const { post, logged } = await start(model, { heartbeat: { every: '1s' } }, { dir })
    await expect.poll(() => logged.filter((line) => line.includes('HEARTBEAT.md cannot be read'))).toHaveLength(1)
    await post('/hooks/wake', { text: 'something new' })
    const prompt = await model.prompt(0)
    expect(eventsOf(prompt)).toEqual(['something new'])
    expect(prompt).not.toMatch(/a text from outside|HEARTBEAT\.md/)
  })

  it('reads only the beginning of a huge HEARTBEAT.md', async () => {
    const model = await startModel()
    model.script(ok)
    const dir = temporaryFolder()
    writeNotes(dir, 'main', 'Check the plant. ')
    truncateSync(join(dir, 'state', 'workspaces', 'main', 'HEARTBEAT.md'), 100 * 1024 ** 3)
    await start(model, { heartbeat: { every: '1s' } }, { dir })
    const prompt = await model.prompt(0)
    expect(prompt).toContain('Check the plant.')
    expect(prompt.length).toBeLessThan(70_000)
    writeNotes(dir, 'main', '')
  })

  it('calls no model without events and with blank notes', async () => {
    const model = await startModel()
    const dir = temporaryFolder()
    writeNotes(dir, 'other', 'Check.')
    model.script(ok)
    // The other agent's heartbeat comes after the default agent's, which by then has passed without a model call.
    const agents = {
      main: { systemPrompt: 'I am main.' },
      other: { systemPrompt: 'I am other.', heartbeat: { every: '2s' } },
    }
    await start(model, { heartbeat: { every: '1s' }, agents, notes: ' \n' }, { dir })
    expect(systemOf(await model.request(0))).toContain('I am other.')
    writeNotes(dir, 'other', '')
  })

  it('runs for the default agent and for agents with a heartbeat section', async () => {
    const model = await startModel()
    const dir = temporaryFolder()
    for (const id of ['main', 'beating', 'still']) writeNotes(dir, id, `Check ${id}.`)
    model.script(ok, ok)
    await start(
      model,
      {
        heartbeat: { every: '1s', prompt: 'Look.' },
        agents: { main: {}, beating: { heartbeat: { prompt: 'Look well.' } }, still: {} },
      },
      { dir },
    )
    await model.request(1)
    const prompts = [await model.prompt(0), await model.prompt(1)]
      .map((prompt) => prompt.split('\n').slice(1).join(' '))
      .toSorted()
    for (const id of ['main', 'beating']) writeNotes(dir, id, '')
    expect(prompts).toEqual(['Check beating.  Look well.', 'Check main.  Look.'])
  })

  it('uses the model of heartbeat.model', async () => {
    const model = await startModel()
    model.script(ok)
    const { post } = await start(model, { heartbeat: { model: 'double/small' } })
    await post('/hooks/wake', { text: 'one' })
    expect((await model.request(0)).body['model']).toBe('small')
  })
})

describe('active hours', () => {
  it('delay wakes, periodic heartbeats and their events', async () => {
    const model = await startModel()
    const dir = temporaryFolder()
    model.script(ok)
    writeNotes(dir, 'other', 'Check.')
    const agents = {
      main: { systemPrompt: 'I am main.', heartbeat: { activeHours: closedHours() } },
      other: { systemPrompt: 'I am other.', heartbeat: {} },
    }
    const { post } = await start(model, { heartbeat: { every: '1s' }, agents, notes: 'Check, too.' }, { dir })
    await post('/hooks/wake', { text: 'one' })
    expect(systemOf(await model.request(0))).toContain('I am other.')
    writeNotes(dir, 'other', '')
  })
})

describe('the reply of a heartbeat', () => {
  const startWithReply = async (heartbeat: Document, text = 'The disk is full.') => {
    const [model, chat, dir] = [await startModel(), await startChat(), temporaryFolder()]
    model.script({ text })
    const setup = configure(model, { heartbeat })
    const gateway = await startGateway(
      {
        ...setup,
        ...chat.config(dir, {
          'chat-native': { defaultTo: 'lobby', allowFrom: ['*'] },
          'chat-none': { allowFrom: ['*'] },
        }),
      },
      dir,
    )
    return { ...gateway, chat, model }
  }

  it('goes to heartbeat.target and heartbeat.to', async () => {
    const { post, chat } = await startWithReply({ target: 'chat-native', to: 'ops' })
    await post('/hooks/wake', { text: 'one' })
    expect((await chat.holds(1))[0]).toMatchObject({ channel: 'chat-native', to: 'ops', text: 'The disk is full.' })
  })

  it("goes to the channel's defaultTo when there is no heartbeat.to", async () => {
    const { post, chat } = await startWithReply({ target: 'chat-native' })
    await post('/hooks/wake', { text: 'one' })
    expect((await chat.holds(1))[0]).toMatchObject({ to: 'lobby' })
  })

  it('goes to the last route when the target is "last"', async () => {
    const { post, chat, model } = await startWithReply({ target: 'last' }, 'Hello Ann.')
    model.script({ text: 'The disk is full.' })
    await chat.say({ to: 'room 1' }, 'chat-none')
    await chat.holds(1)
    await post('/hooks/wake', { text: 'one' })
    expect((await chat.holds(2))[1]).toMatchObject({ channel: 'chat-none', to: 'room 1', text: 'The disk is full.' })
  })

  it('is not delivered by default, but stays in the conversation', async () => {
    const { post, chat, model } = await startWithReply({})
    model.script(ok)
    await post('/hooks/wake', { text: 'one' })
    await model.request(0)
    await post('/hooks/wake', { text: 'two' })
    const messages = messagesOf(await model.request(1))
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(JSON.stringify(messages)).toContain('The disk is full.')
    expect(chat.attempts).toEqual([])
  })

  it('is not delivered when it only acknowledges', async () => {
    const { post, chat, model } = await startWithReply(
      { target: 'chat-native', to: 'ops' },
      '**HEARTBEAT_OK** All quiet.',
    )
    model.script({ text: 'The disk is full.' })
    await post('/hooks/wake', { text: 'one' })
    await model.request(0)
    await post('/hooks/wake', { text: 'two' })
    expect((await chat.holds(1))[0]!.text).toBe('The disk is full.')
  })

  it('stays in the conversation with the rendered events, even if it only acknowledges', async () => {
    const { post, chat, model } = await startWithReply({}, '**HEARTBEAT_OK** All quiet.')
    model.script({ text: 'The build failed.' })
    await post('/hooks/wake', { text: 'The build has failed.' })
    await model.request(0)
    await chat.say({ text: 'What is new?' }, 'chat-none')
    const messages = messagesOf(await model.request(1))
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(messages[1]!.content).toContain('The build has failed.')
    await chat.holds(1)
  })

  it('leaves no trace when it only acknowledges and no event was rendered', async () => {
    const model = await startModel()
    model.otherwise(ok)
    await start(model, { heartbeat: { every: '1s' }, notes: 'Look at the disk.' })
    expect(messagesOf(await model.request(1)).map(({ role }) => role)).toEqual(['system', 'user'])
  })
})
