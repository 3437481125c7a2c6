// Tests the limits of WebSocket connections (time, bytes, calls) and malformed frames.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { gatewayToken } from '../../helpers.ts'
import { exchange, rawConnection, statusLines } from '../../http/app.ts'
import { connectRpc, login, refusal, type RpcClient } from '../rpc-client.ts'
import { openSocket } from './sockets.ts'

const handshake = (...headers: string[]) =>
  [
    'GET /ws HTTP/1.1',
    'Host: localhost',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    ...headers,
    '',
    '',
  ].join('\r\n')
const goodKey = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='

/** Renders a client frame. `length` is the payload length that it declares. */
function frame(first: number, payload: Buffer, { masked = true, length = payload.length } = {}): Buffer {
  const mask = masked ? Buffer.from([1, 2, 3, 4]) : Buffer.alloc(0)
  const size = length < 126 ? Buffer.from([length]) : Buffer.from([126, length >> 8, length & 255])
  size[0]! |= masked ? 128 : 0
  return Buffer.concat([
    Buffer.from([first]),
    size,
    mask,
    masked ? payload.map((byte, index) => byte ^ mask[index % 4]!) : payload,
  ])
}

const text = 0x81
const auth = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'auth', params: { token: gatewayToken } }))
const closeCode = (code: number) => Buffer.from([0x88, 2, code >> 8, code & 255]).toString('latin1')

describe('a handshake', () => {
  it.each([
    ['no key', handshake()],
    ['a key that is none', handshake('Sec-WebSocket-Key: x')],
    ['another version', handshake(goodKey).replace('Version: 13', 'Version: 7')],
    ['a malformed subprotocol', handshake(goodKey, 'Sec-WebSocket-Protocol: ,,')],
  ])('with %s gets one 400 in the envelope, and the connection closes', async (_what, bytes) => {
    const { port, lines } = await openSocket()
    const received = await exchange(port, bytes + handshake(goodKey))
    expect(statusLines(received)).toEqual(['400'])
    const [head = '', body = ''] = received.split('\r\n\r\n')
    expect(head.toLowerCase()).toContain('connection: close')
    expect(JSON.parse(body).error).toEqual({ type: 'malformed_http', message: expect.stringContaining('handshake') })
    expect(lines.filter((line) => line.includes('malformed_http'))).toHaveLength(1)
  })

  it('gets 503 while the gateway starts or stops', async () => {
    const { url } = await openSocket({}, { isReady: () => false })
    expect(await refusal(`${url}/ws`)).toMatchObject({
      status: 503,
      body: { error: { type: 'shutting_down' } },
      headers: { 'retry-after': '1' },
    })
  })

  it('that is pipelined behind an unanswered request does not detach its connection', async () => {
    const { port, release } = await openSocket()
    const { socket, until } = rawConnection(port)
    socket.write(`GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n${handshake(goodKey)}`)
    release()
    expect(statusLines(await until('upgrade_required'))).toEqual(['200', '426'])
  })

  it('may be followed by the first message in the same packet', async () => {
    const { port } = await openSocket()
    const { socket, until } = rawConnection(port)
    socket.write(Buffer.concat([Buffer.from(handshake(goodKey)), frame(text, auth)]))
    expect(statusLines(await until('"result":{"ok":true}'))).toEqual(['101'])
  })

  it.each(['websocket', 'h2c', 'TLS/1.0'])(
    'for %s at another path is handled as HTTP: the body is read, the connection stays open',
    async (protocol) => {
      const { port } = await openSocket()
      const { socket, until } = rawConnection(port)
      const post =
        `POST /body HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n` +
        'Content-Length: 13\r\n\r\n{"text":"hi"}'
      socket.write(post)
      await until('{"text":"hi"}')
      socket.write(post.replace('hi', 'ho'))
      expect(statusLines(await until('{"text":"ho"}'))).toEqual(['200', '200'])
    },
  )

  it('may be followed by many messages at once when the first one authenticates', async () => {
    const { port } = await openSocket({ maxUnauthenticatedBytes: 1_000 })
    const { socket, until } = rawConnection(port)
    const echo = Buffer.from(
      JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'echo', params: { long: 'x'.repeat(5_000) } }),
    )
    socket.write(Buffer.concat([Buffer.from(handshake(goodKey)), frame(text, auth), frame(text, echo)]))
    await until('"id":2')
    socket.write(frame(text, Buffer.from('{"jsonrpc":"2.0","id":3,"method":"echo"}')))
    expect(await until('"id":3')).toContain('"id":2')
  })

  it('whose client has disconnected leaks nothing', async () => {
    const { port, url, changes } = await openSocket()
    for (let index = 0; index < 20; index++) {
      const { socket } = rawConnection(port)
      await once(socket, 'connect')
      socket.write(handshake(goodKey))
      if (index % 2) socket.resetAndDestroy()
      else socket.destroy()
    }
    expect((await (await login(url)).call('echo', { a: 1 })).result).toEqual({ a: 1 })
    expect(changes.runs.hasSubscribers()).toBe(false)
  })
})

describe('a client that has not authenticated', () => {
  it('is disconnected when it sends nothing', async () => {
    const { url } = await openSocket({ authTimeoutMs: 50 })
    expect(await (await connectRpc(url)).closed).toEqual({
      code: 1008,
      reason: 'The client did not authenticate in time.',
    })
  })

  it('is disconnected also when it keeps pinging', async () => {
    const { url } = await openSocket({ authTimeoutMs: 100 })
    const client = await connectRpc(url)
    const pings = setInterval(() => client.socket.ping(), 5)
    expect((await client.closed).code).toBe(1008)
    clearInterval(pings)
  })

  it.each([
    ['right behind the handshake', true],
    ['later', false],
  ])('may not send many bytes %s', async (_when, atOnce) => {
    const { port, logged, url } = await openSocket({ maxUnauthenticatedBytes: 1_000 })
    const { socket, ended, until } = rawConnection(port)
    socket.write(handshake(goodKey))
    if (!atOnce) await until('101 Switching')
    socket.write(frame(text, Buffer.alloc(2_000, 'x'), { length: 60_000 }))
    await logged('Too much was sent before authenticating.')
    expect(statusLines(await ended)).toEqual(['101'])
    const client = await login(url)
    expect((await client.call('echo', { long: 'x'.repeat(5_000) })).result.long).toHaveLength(5_000)
  })

  it('is evicted by newer ones; authenticated clients are not', async () => {
    const { url } = await openSocket({ maxUnauthenticatedClients: 3 })
    const known = await login(url)
    const clients: RpcClient[] = []
    for (let index = 0; index < 10; index++) clients.push(await connectRpc(url))
    expect((await Promise.all(clients.slice(0, 7).map(({ closed }) => closed))).map(({ code }) => code)).toEqual(
      Array(7).fill(1006),
    )
    expect((await clients.at(-1)!.call('auth', { token: gatewayToken })).result).toEqual({ ok: true })
    expect((await known.call('echo', {})).result).toEqual({})
  })
})

describe('an authenticated client', () => {
  it('that reads too slowly is closed with a reason, while others receive everything', async () => {
    const { url, publishLine, logged, logStream } = await openSocket({
      maxBufferedBytes: 262_144,
      closeTimeoutMs: 20_000,
    })
    const [slow, quick] = [await login(url), await login(url)]
    for (const client of [slow, quick]) await client.call('subscribe')
    slow.socket.pause()
    let change = 0
    const dropped = logged('reads too slowly')
    let isDropped = false
    void dropped.then(() => (isDropped = true))
    while (!isDropped) {
      publishLine(100_000)
      change += 1
      await quick.call('echo', {})
    }
    expect(quick.notifications.filter(({ params }) => params.component === 'test')).toHaveLength(change)
    expect(quick.notifications.filter(({ params }) => params.message === 'WebSocket closed')).toHaveLength(1)
    slow.socket.resume()
    expect(await slow.closed).toEqual({ code: 1013, reason: 'The client reads too slowly.' })
    expect(slow.notifications.length).toBeLessThan(change)
    quick.socket.close()
    await quick.closed
    await expect.poll(() => logStream.hasSubscribers()).toBe(false)
  })

  it('that reads nothing at all is terminated after a while', async () => {
    const { url, publishLine, logged, logStream } = await openSocket({ maxBufferedBytes: 1_000, closeTimeoutMs: 50 })
    const client = await login(url)
    await client.call('subscribe')
    client.socket.pause()
    const dropped = logged('reads too slowly')
    for (let index = 0; index < 200; index++) publishLine(100_000)
    await dropped
    await expect.poll(() => logStream.hasSubscribers()).toBe(false)
  })

  it('may run at most maxCalls calls at once', async () => {
    const { url, release } = await openSocket({ maxCalls: 5 })
    const client = await login(url)
    const held = Array.from({ length: 5 }, () => client.call('hold'))
    expect((await client.call('echo', {})).error).toMatchObject({ code: -32_000, data: { type: 'too_many_calls' } })
    release()
    expect((await Promise.all(held)).map(({ result }) => result)).toEqual(Array(5).fill(null))
    expect((await client.call('echo', {})).result).toEqual({})
  })

  it('that floods the gateway gets a response to every call', async () => {
    const { url } = await openSocket()
    const client = await login(url)
    const answers = await Promise.all(Array.from({ length: 20_000 }, (_, index) => client.call('echo', { index })))
    expect(
      answers.filter(({ result, error }, index) => result?.index === index || error?.data.type === 'too_many_calls'),
    ).toHaveLength(20_000)
  })

  it('may send messages up to the limit', async () => {
    const { url } = await openSocket({ maxMessageBytes: 10_000 })
    const message = (size: number) =>
      JSON.stringify({ jsonrpc: '2.0', id: 'x', method: 'echo', params: {} }).padEnd(size)
    const client = await login(url)
    expect((await client.exchange(message(10_000))).result).toEqual({})
    client.socket.send(message(10_001))
    expect((await client.closed).code).toBe(1009)
  })

  it('must send text frames', async () => {
    const { url } = await openSocket()
    const client = await login(url)
    client.socket.send(auth)
    expect(await client.closed).toEqual({ code: 1003, reason: 'Send text frames.' })
  })

  it('is terminated when it does not answer pings', async () => {
    const { url, logged } = await openSocket({ pingIntervalMs: 50 })
    const [here, away] = [await login(url), await login(url, { autoPong: false })]
    expect((await away.closed).code).toBe(1006)
    await logged('The client no longer responds.')
    await once(here.socket, 'ping')
    await once(here.socket, 'ping')
    expect((await here.call('echo', {})).result).toEqual({})
  })

  it('gets no details of an internal error; the log gets only where it was thrown', async () => {
    const { url, lines } = await openSocket()
    const client = await login(url)
    const { error } = await client.call('break')
    expect(error).toEqual({
      code: -32_603,
      message: "Something went wrong inside. See the gateway's log.",
      data: { type: 'internal_error' },
    })
    expect(lines.at(-1)).toMatch(/"method":"break".*"cause":"SyntaxError"/)
    expect(lines.join()).not.toContain('payload')
  })
})

describe('malformed frames', () => {
  it.each<[string, Buffer, number]>([
    ['without a mask', frame(text, auth, { masked: false }), 1002],
    ['with reserved bits', frame(text | 0x40, auth), 1002],
    ['of an unknown kind', frame(0x83, auth), 1002],
    ['that go on with nothing', frame(0x80, auth), 1002],
    ['with a ping in pieces', frame(0x09, Buffer.from('x')), 1002],
    ['with a ping that is too long', frame(0x89, Buffer.alloc(126)), 1002],
    ['that are not UTF-8', frame(text, Buffer.from([0xff, 0xfe])), 1007],
    [
      'that are larger than allowed',
      Buffer.concat([Buffer.from([text, 0xff, 0, 0, 0, 0, 1, 0, 0, 0]), Buffer.alloc(8)]),
      1009,
    ],
    ['that close with a code that there is not', frame(0x88, Buffer.from([0, 1])), 1002],
  ])('%s close the connection with the right code', async (_what, bytes, code) => {
    const { port, url } = await openSocket()
    const { socket, ended } = rawConnection(port)
    socket.write(Buffer.concat([Buffer.from(handshake(goodKey)), bytes]))
    expect((await ended).endsWith(closeCode(code))).toBe(true)
    expect((await (await login(url)).call('echo', {})).result).toEqual({})
  })

  it('at random do no harm', async () => {
    const { port, url } = await openSocket({ closeTimeoutMs: 100 })
    const client = await login(url)
    for (let index = 0; index < 200; index++) {
      const { socket } = rawConnection(port)
      socket.write(Buffer.concat([Buffer.from(handshake(goodKey)), frame(text, auth), randomBytes(1 + (index % 50))]))
      socket.end()
    }
    expect((await client.call('echo', { still: 'here' })).result).toEqual({ still: 'here' })
  })
})

describe('closing the route group', () => {
  it('waits for calls, then closes the connections', async () => {
    const { url, sockets, release } = await openSocket()
    const client = await login(url)
    const held = client.call('hold')
    await client.call('echo')
    const closed = sockets.close(10_000, 'done')
    release()
    expect((await held).result).toBeNull()
    expect((await client.closed).code).toBe(1001)
    await closed
  })

  it('waits no longer than the given time', async () => {
    const { url, sockets } = await openSocket()
    const client = await login(url)
    void client.call('hold')
    await client.call('echo')
    await sockets.close(20, 'done')
    expect((await client.closed).code).toBe(1001)
  })
})
