// Tests slow clients at the real limits. The timeout of each test is the limit that it proves.
import { describe, it } from 'vitest'
import { drip, rawConnection, rawRequest, startApp, statusLines } from '../http/app.ts'

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
