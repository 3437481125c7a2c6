// The heartbeat: what makes it beat, what it shows to the model, what it does with the answer, and when it stays quiet.
import { execFileSync } from 'node:child_process'
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { messagesOf, type ModelServer, startModel, systemOf } from '../doubles/model.ts'
import { type Document, startGateway, temporaryFolder } from '../helpers.ts'

const ok = { text: 'HEARTBEAT_OK' }

interface Setup {
  /** Overrides of `agents.defaults.heartbeat`; nothing periodic unless it says so. */
  heartbeat?: Document
  /** More of the section `agents`. */
  agents?: Document
  /** HEARTBEAT.md of the default agent. */
  notes?: string
}

/** The configuration of an agent that this model answers for. */
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

/** A window that is closed for the next hours, wherever it is now. */
function closedHours(): Document {
  const clock = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16)
  return { start: clock(5), end: clock(6), timezone: 'UTC' }
}

const eventsOf = (prompt: string) => Array.from(prompt.matchAll(/\n---\n([\s\S]*?)\n<<<END/g), ([, text]) => text)

describe('a bell', () => {
  it('makes the main session look at what waits there, oldest first', async () => {
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

  it('is one bell when it is rung often within a quarter of a second', async () => {
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

  it('rung during a beat is served right after it', async () => {
    const model = await startModel()
    model.script(ok, ok)
    const { post } = await start(model)
    await post('/hooks/wake', { text: 'one' })
    await model.request(0)
    await post('/hooks/wake', { text: 'two' })
    expect(eventsOf(await model.prompt(1))).toEqual(['two'])
  })

  it('rung while the session is busy waits its turn, and finds only what that turn has left', async () => {
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
    const shown = eventsOf(await model.prompt(0)).concat(
      eventsOf(await model.prompt(0)).includes('late') ? [] : eventsOf(await model.prompt(1)),
    )
    expect(shown).toEqual(['early', 'late'])
  })

  it('outlives a restart', async () => {
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

  it('that was being served when the gateway stopped is served by the next start', async () => {
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

  it('rings in the one session of all agents in global scope: the default agent hears it', async () => {
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
  it('wait until a model has really read them: a failing one keeps them', async () => {
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

  it('are tried again by themselves after a beat that failed, and at once when a bell rings', async () => {
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

  it('are shown once', async () => {
    const model = await startModel()
    model.script(ok, ok)
    const { post } = await start(model)
    await post('/hooks/wake', { text: 'one' })
    await model.request(0)
    await post('/hooks/wake', { text: 'two' })
    expect(eventsOf(await model.prompt(1))).toEqual(['two'])
  })

  it('are never dropped for their count: they come in bounded batches, in order, one beat after the other', async () => {
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

  it('that are long come alone', async () => {
    const model = await startModel()
    model.script(ok, ok)
    const { post } = await start(model)
    await post('/hooks/wake', { text: 'x'.repeat(200_000), mode: 'next-heartbeat' })
    await post('/hooks/wake', { text: 'short' })
    await model.request(1)
    expect([eventsOf(await model.prompt(0)).length, eventsOf(await model.prompt(1))]).toEqual([1, ['short']])
  })
})

describe('the periodic beat', () => {
  it('looks at what waits for it', async () => {
    const model = await startModel()
    model.script(ok)
    const { post } = await start(model, { heartbeat: { every: '1s' } })
    await post('/hooks/wake', { text: 'one', mode: 'next-heartbeat' })
    expect(eventsOf(await model.prompt(0))).toEqual(['one'])
  })

  it('shows the notes of HEARTBEAT.md, as they are now, and asks what heartbeat.prompt says', async () => {
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
  ])('goes on without the notes where HEARTBEAT.md is %s, and says so', async (_what, make) => {
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

  it('reads the beginning of a HEARTBEAT.md without end', async () => {
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

  it('calls no model when nothing waits and there are no notes, or blank ones', async () => {
    const model = await startModel()
    const dir = temporaryFolder()
    writeNotes(dir, 'other', 'Check.')
    model.script(ok)
    // The other agent's beat comes after the default agent's: by then that one has passed without a word.
    const agents = {
      main: { systemPrompt: 'I am main.' },
      other: { systemPrompt: 'I am other.', heartbeat: { every: '2s' } },
    }
    await start(model, { heartbeat: { every: '1s' }, agents, notes: ' \n' }, { dir })
    expect(systemOf(await model.request(0))).toContain('I am other.')
    writeNotes(dir, 'other', '')
  })

  it('is for the default agent, and for those that have a heartbeat of their own', async () => {
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
  it('keep bells and beats waiting, and the events with them', async () => {
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

describe('what a beat says', () => {
  const say = async (heartbeat: Document, text = 'The disk is full.') => {
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
    const { post, chat } = await say({ target: 'chat-native', to: 'ops' })
    await post('/hooks/wake', { text: 'one' })
    expect((await chat.holds(1))[0]).toMatchObject({ channel: 'chat-native', to: 'ops', text: 'The disk is full.' })
  })

  it("goes to the channel's defaultTo when there is no heartbeat.to", async () => {
    const { post, chat } = await say({ target: 'chat-native' })
    await post('/hooks/wake', { text: 'one' })
    expect((await chat.holds(1))[0]).toMatchObject({ to: 'lobby' })
  })

  it('goes to the last route when the target is "last"', async () => {
    const { post, chat, model } = await say({ target: 'last' }, 'Hello Ann.')
    model.script({ text: 'The disk is full.' })
    await chat.say({ to: 'room 1' }, 'chat-none')
    await chat.holds(1)
    await post('/hooks/wake', { text: 'one' })
    expect((await chat.holds(2))[1]).toMatchObject({ channel: 'chat-none', to: 'room 1', text: 'The disk is full.' })
  })

  it('goes nowhere by default, but stays in the conversation', async () => {
    const { post, chat, model } = await say({})
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
    const { post, chat, model } = await say({ target: 'chat-native', to: 'ops' }, '**HEARTBEAT_OK** All quiet.')
    model.script({ text: 'The disk is full.' })
    await post('/hooks/wake', { text: 'one' })
    await model.request(0)
    await post('/hooks/wake', { text: 'two' })
    expect((await chat.holds(1))[0]!.text).toBe('The disk is full.')
  })

  it('is kept with the events that the beat rendered, also when it only acknowledges: a later message knows the news', async () => {
    const { post, chat, model } = await say({}, '**HEARTBEAT_OK** All quiet.')
    model.script({ text: 'The build failed.' })
    await post('/hooks/wake', { text: 'The build has failed.' })
    await model.request(0)
    await chat.say({ text: 'What is new?' }, 'chat-none')
    const messages = messagesOf(await model.request(1))
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(messages[1]!.content).toContain('The build has failed.')
    await chat.holds(1)
  })

  it('leaves nothing behind when the beat rendered no event and only acknowledges', async () => {
    const model = await startModel()
    model.otherwise(ok)
    await start(model, { heartbeat: { every: '1s' }, notes: 'Look at the disk.' })
    expect(messagesOf(await model.request(1)).map(({ role }) => role)).toEqual(['system', 'user'])
  })
})
