// Tests the shutdown: SIGTERM lets work end, and the next start resumes the rest.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { hookToken, startGateway, temporaryFolder } from '../helpers.ts'
import { ended, post, start, waitingTexts } from './process.ts'

describe('SIGTERM', () => {
  it('answers every request whose headers it has, waits for no silent connection, and refuses new ones', async () => {
    const dir = temporaryFolder()
    // Nothing here takes that long, so a wait until this limit means a hang.
    const gateway = await start(dir, { gateway: { drainSeconds: 3600 } })
    const texts = Array.from({ length: 50 }, (_, index) => `half sent ${index}`)
    const halves = await Promise.all(texts.map((text) => sendHeaders(gateway.url, { text, mode: 'next-heartbeat' })))
    // Browsers open connections in advance.
    const silent = connect(Number(new URL(gateway.url).port), '127.0.0.1')
      .resume()
      .on('error', () => {})
    await once(silent, 'connect')
    const exit = gateway.end('SIGTERM')
    await refused(gateway.url)
    expect(await Promise.all(halves.map((half) => half.sendBody()))).toEqual(texts.map(() => 200))
    expect(await exit).toBe(0)
    expect((await waitingTexts(dir)).toSorted()).toEqual(texts.toSorted())
  })

  it('loses no accepted work under load, lets a run end in time, and sends its reply', async () => {
    const [dir, model] = [temporaryFolder(), await startModel()]
    model.script({ text: 'just in time' })
    const gateway = await start(dir, { providers: model.providers, agents: { defaults: { model: 'double/m' } } })
    const accepted: string[] = []
    const enough = Promise.withResolvers<void>()
    const work = Array.from({ length: 16 }, async (_, client) => {
      for (let count = 0; ; count++) {
        const text = `${client}-${count}`
        const answer = await post(gateway.url, ['wake', { text, mode: 'next-heartbeat' }]).catch(() => undefined)
        if (answer?.status !== 200) return answer?.status
        accepted.push(text)
        if (accepted.length === 500) enough.resolve()
      }
    })
    await enough.promise
    await post(gateway.url, ['agent', { message: 'quick', channel: 'console', wakeMode: 'next-heartbeat' }])
    await model.request(0)
    expect(await gateway.end('SIGTERM')).toBe(0)
    for (const status of await Promise.all(work)) expect([undefined, 503]).toContain(status)
    expect(await waitingTexts(dir)).toEqual(expect.arrayContaining(accepted))
    expect(gateway.output.join('\n')).toContain('just in time')
  })

  it('returns a run that does not end in time to the queue, without counting the attempt', async () => {
    const [dir, model] = [temporaryFolder(), await startModel()]
    model.script({ hang: true }, { hang: true }, { text: 'done after all' })
    const changes = {
      gateway: { drainSeconds: 0 },
      providers: model.providers,
      agents: { defaults: { model: 'double/m', maxAttempts: 2 } },
    }
    const before = await start(dir, changes)
    const { body } = await post(before.url, [
      'agent',
      { message: 'take your time', deliver: false, wakeMode: 'next-heartbeat' },
    ])
    await model.request(0)
    expect(await before.end('SIGTERM')).toBe(0)
    const interrupted = await start(dir, changes)
    await model.request(1)
    await interrupted.end('SIGKILL')
    const after = await startGateway(changes, dir)
    expect(await ended(after.url, body.runId)).toMatchObject({ status: 'succeeded', reply: 'done after all' })
  })

  it('ends the process at once when sent twice', async () => {
    const model = await startModel()
    model.script({ hang: true })
    const gateway = await start(temporaryFolder(), {
      gateway: { drainSeconds: 3600 },
      providers: model.providers,
      agents: { defaults: { model: 'double/m' } },
    })
    await post(gateway.url, ['agent', { message: 'never ends' }])
    await model.request(0)
    const exit = gateway.end('SIGTERM')
    await refused(gateway.url)
    gateway.process.kill('SIGTERM')
    expect(await exit).toBe(1)
  })
})

interface Half {
  /** Sends the rest. Resolves with the status of the response. */
  sendBody(): Promise<number>
}

/** Resolves when the gateway has sent 100 Continue. */
async function sendHeaders(url: string, wake: object): Promise<Half> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const body = JSON.stringify(wake)
  socket.write(
    `POST /hooks/wake HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${hookToken}\r\n` +
      `expect: 100-continue\r\ncontent-length: ${body.length}\r\n\r\n`,
  )
  expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1.1 100 /)
  return {
    sendBody: async () => {
      socket.write(body)
      const answer = await wholeAnswer(socket)
      expect(answer).toMatch(/\r\n\r\n\{.*\}$/s)
      return Number(answer.slice(9, 12))
    },
  }
}

async function wholeAnswer(socket: Socket): Promise<string> {
  let answer = ''
  for await (const chunk of socket) answer += String(chunk)
  return answer
}

/** Resolves when connections are refused. */
async function refused(url: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const open = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  if (open) await refused(url)
}
