// Tests slow clients. The tests run concurrently, and the timeout of each test is the limit that it proves.
import { describe, it } from 'vitest'
import { rawConnection, rawRequest, startApp, statusLines } from './app.ts'

const short = { limits: { headersMs: 300, requestMs: 600, checkEveryMs: 50 } }

/** Writes one piece after another for as long as the connection lives. */
function drip(write: () => unknown, ended: Promise<unknown>, everyMs: number): void {
  const timer = setInterval(write, everyMs)
  void ended.finally(() => clearInterval(timer))
}

describe.concurrent('a client, at the real limits,', () => {
  it('that sends its headers slowly gets 408 after 15 s', { timeout: 20_000 }, async ({ onTestFinished, expect }) => {
    const { port, lines } = await startApp({}, onTestFinished)
    const { socket, ended } = rawConnection(port, onTestFinished)
    socket.write('POST /hooks/echo HTTP/1.1\r\nHost: localhost\r\n')
    drip(() => socket.write('X-A: b\r\n'), ended, 1_000)
    const received = await ended
    expect(statusLines(received)).toEqual(['408'])
    expect(received).toContain('"type":"request_timeout"')
    expect(received).toContain('connection: close')
    expect(lines).toHaveLength(1)
  })

  it('that sends its body slowly gets 408 after 30 s', { timeout: 36_000 }, async ({ onTestFinished, expect }) => {
    const { port, lines, reached } = await startApp({}, onTestFinished)
    const { socket, ended } = rawConnection(port, onTestFinished)
    socket.write(rawRequest('{', { headers: ['Content-Length: 1000'] }))
    drip(() => socket.write(' '), ended, 1_000)
    const received = await ended
    expect(statusLines(received)).toEqual(['408'])
    expect(received).toContain('"type":"request_timeout"')
    expect(received).toContain('x-request-id: ')
    expect(lines).toHaveLength(1)
    expect(reached).toEqual([])
  })
})

describe.concurrent('a client, at short limits,', () => {
  it('that sends chunks slowly gets 408, too', async ({ onTestFinished, expect }) => {
    const { port } = await startApp(short, onTestFinished)
    const { socket, ended } = rawConnection(port, onTestFinished)
    socket.write(rawRequest('1\r\n{\r\n', { headers: ['Transfer-Encoding: chunked'] }))
    drip(() => socket.write('1\r\n \r\n'), ended, 20)
    expect(statusLines(await ended)).toEqual(['408'])
  })

  it('that continues to send after its refusal is disconnected without a second response', async ({
    onTestFinished,
    expect,
  }) => {
    const { port, lines } = await startApp(short, onTestFinished)
    const { socket, ended } = rawConnection(port, onTestFinished)
    socket.write(rawRequest('{', { headers: ['Content-Length: 1000'] }).replace('Bearer ', 'Bearer x'))
    drip(() => socket.write(' '), ended, 20)
    expect(statusLines(await ended)).toEqual(['401'])
    expect(lines).toHaveLength(1)
  })

  it('that sends nothing is disconnected without a response', async ({ onTestFinished, expect }) => {
    const { port, lines } = await startApp(short, onTestFinished)
    expect(await rawConnection(port, onTestFinished).ended).toBe('')
    expect(lines).toEqual([])
  })

  it('that waits for a slow response is not disconnected', async ({ onTestFinished, expect }) => {
    const { promise: beforeReply, resolve: open } = Promise.withResolvers<void>()
    const { port } = await startApp({ ...short, beforeReply: () => beforeReply }, onTestFinished)
    const { socket, ended } = rawConnection(port, onTestFinished)
    socket.write(rawRequest('{}', { headers: ['Content-Length: 2', 'Connection: close'] }))
    // Another connection is found overdue meanwhile: the check has run.
    await rawConnection(port, onTestFinished).ended
    await rawConnection(port, onTestFinished).ended
    open()
    expect(statusLines(await ended)).toEqual(['200'])
  })
})
