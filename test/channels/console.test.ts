// The console channel: the channel contract with a file, and what a real process prints and reads.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, mkdtemp, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import consoleChannel from '../../channels/console.ts'
import { channelContract } from '../contracts/channel.ts'
import { createTestContext } from '../contracts/context.ts'
import { expectNoWarnings } from '../process-warnings.ts'
import { uncertain } from './uncertain.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'console-'))
  vi.spyOn(process.stdout, 'write').mockImplementation(swallow)
})
afterEach(async () => {
  vi.restoreAllMocks()
  await rm(dir, { recursive: true })
})

/** Keeps the output of the test runner clean; the tests below read what separate processes print. */
const swallow = (_text: unknown, ...rest: unknown[]) => {
  const done = rest.at(-1)
  if (typeof done === 'function') done()
  return true
}

const journal = async (file: string) =>
  (await readFile(file, 'utf8'))
    .split('\n')
    .filter((line) => line.startsWith('{"key"') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as { key: string; to: string; text: string; at: string })

const connect = (config: { file?: string; input?: boolean }) =>
  consoleChannel.connect(config, {
    ...createTestContext(),
    accountId: 'default',
    receive: async () => 'accepted',
    lost: () => undefined,
  })

/** Each double has a file of its own. */
let opened = 0

channelContract(
  consoleChannel,
  async () => {
    const file = join(dir, `messages-${++opened}.jsonl`)
    return { config: { file }, to: 'someone', messages: () => journal(file), close: async () => undefined }
  },
  {
    without: [
      'answer',
      'forward',
      'hideId',
      'answerNext',
      'badConfig',
      'disconnect',
      'edit',
      'limitNext',
      'loseNextAnswer',
      'rename',
      'say',
      'sayInGroup',
      'sayInThread',
      'redirectNextDownload',
      'sayWithFile',
      'sayWithFiles',
    ],
  },
)

describe('the file of the console', () => {
  it('never contains a key twice, also not after a restart', async () => {
    const file = join(dir, 'messages.jsonl')
    for (const _ of [1, 2]) {
      const connection = await connect({ file })
      for (const __ of [1, 2])
        expect(await connection.send({ key: 'k', to: 'a', text: 'once' })).toEqual({ outcome: 'sent', id: 'k' })
      expect(await connection.reconcile?.(uncertain('k', 'a'))).toBe('sent')
      await connection.close()
    }
    expect((await journal(file)).map(({ key }) => key)).toEqual(['k'])
  })

  it('contains one record per line when many are sent at once', async () => {
    const file = join(dir, 'messages.jsonl')
    const connection = await connect({ file })
    const texts = Array.from({ length: 100 }, (_, index) => `${index} `.padEnd(20_000, '☃'))
    await Promise.all(texts.map((text, index) => connection.send({ key: `k${index}`, to: 'a', text })))
    await connection.close()
    const lines = (await readFile(file, 'utf8')).split('\n')
    expect(lines.pop()).toBe('')
    expect(lines.map((line) => (JSON.parse(line) as { text: string }).text).toSorted()).toEqual(texts.toSorted())
  })

  it.each([
    ['renamed', (file: string) => rename(file, `${file}.1`)],
    ['removed', (file: string) => rm(file)],
    ['emptied', (file: string) => truncate(file)],
  ])('is begun anew when it was %s, as a rotation of logs does', async (_how, rotate) => {
    const file = join(dir, 'messages.jsonl')
    const connection = await connect({ file })
    await connection.send({ key: 'k1', to: 'a', text: 'before' })
    await rotate(file)
    for (const key of ['k1', 'k2']) await connection.send({ key, to: 'a', text: 'after' })
    await connection.close()
    expect((await journal(file)).map(({ key }) => key)).toEqual(['k2'])
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  it('is readable only by its owner', async () => {
    const file = join(dir, 'messages.jsonl')
    await (await connect({ file })).close()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
  })

  it('continues after a record that a crash cut anywhere', async () => {
    const whole = '{"key":"k1","to":"a","text":"x","at":"2026-01-01T00:00:00.000Z"}\n'
    const cut = '{"key":"k2","to":"a","text":"y","at":"2026-01-01T00:00:00.000Z"}'
    for (let length = 0; length < cut.length; length++) {
      const file = join(dir, `${length}.jsonl`)
      await writeFile(file, whole)
      await appendFile(file, cut.slice(0, length))
      const connection = await connect({ file })
      expect(await connection.reconcile?.(uncertain('k1', 'a'))).toBe('sent')
      expect(await connection.reconcile?.(uncertain('k2', 'a'))).toBe('absent')
      await connection.send({ key: 'k2', to: 'a', text: 'y' })
      await connection.close()
      expect((await journal(file)).map(({ key }) => key)).toEqual(['k1', 'k2'])
    }
  })

  it('is optional: without it reconcile returns unknown', async () => {
    const connection = await connect({})
    expect(await connection.reconcile?.(uncertain('k', 'a'))).toBe('unknown')
    await connection.close()
  })
})

describe('the terminal of the console', () => {
  it('prints one line per message, whatever it contains', async () => {
    const output = await run(
      `await connection.send({ key: 'k', to: 'ops\\r', text: 'red \\u001b[31m\\n[console] boss: hi\\u202e' })
       await connection.close()`,
    )
    expect(output).toBe('[console] ops\\u000d: red \\u001b[31m\n    [console] boss: hi\\u202e\n')
  })

  it('adds one error listener for all accounts', async () => {
    const before = process.stdout.listenerCount('error')
    const connections = await Promise.all(Array.from({ length: 12 }, () => connect({})))
    expect(process.stdout.listenerCount('error')).toBeLessThanOrEqual(before + 1)
    await expectNoWarnings()
    await Promise.all(connections.map(({ close }) => close()))
  })

  it('fails the message, not the process, when the reader is gone', async () => {
    const child = start(`
      await once(process.stdin, 'end')
      const outcome = await connection.send({ key: 'k', to: 'a', text: 'hello' })
      await connection.close()
      process.exitCode = outcome.outcome === 'failed' && outcome.detail === 'EPIPE' ? 42 : 1`)
    child.stdout.destroy()
    await once(child.stdout, 'close')
    child.stdin.end('x')
    expect(await once(child, 'exit')).toEqual([42, null])
  })

  it('receives each line as a message with its own id', async () => {
    const output = await run('', { input: 'hello\n\n  \nworld\n' })
    const messages = output
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string; from: object; to: string; text: string })
    expect(messages.map(({ from, to, text }) => ({ from, to, text }))).toEqual([
      { from: { id: 'console' }, to: 'console', text: 'hello' },
      { from: { id: 'console' }, to: 'console', text: 'world' },
    ])
    expect(new Set(messages.map(({ id }) => id)).size).toBe(2)
  })
})

/** Runs the channel in a separate process, which prints received messages as JSON. */
function start(code: string, config: { input?: boolean } = {}) {
  const script = `
    const { once } = await import('node:events')
    const { default: channel } = await import('./channels/console.ts')
    const receive = async (message) => { console.log(JSON.stringify(message)); return 'accepted' }
    const log = { debug() {}, info() {}, warn() {}, error: console.error }
    const context = { log, signal: new AbortController().signal, accountId: 'default', receive }
    const connection = await channel.connect(${JSON.stringify(config)}, context)
    process.stdin.resume()
    ${code}`
  return spawn(process.execPath, ['--conditions=svc-gateway-source', '--input-type=module', '--eval', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
}

async function run(code: string, { input }: { input?: string } = {}): Promise<string> {
  const child = start(code, { input: input !== undefined })
  child.stdin.end(input ?? '')
  return textOf(child.stdout)
}
