// Tests slow clients, concurrently, at limits that are shorter than the real ones (test/long/slow-clients.test.ts).
import { describe, it } from 'vitest'
import { drip, rawConnection, rawRequest, startApp, statusLines } from './app.ts'

const short = { limits: { headersMs: 300, requestMs: 600, checkEveryMs: 50 } }

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
