// Tests connections: malformed requests, pipelining, and how connections close.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { bearer, exchange, rawConnection, rawRequest, startApp, statusLines, token } from './app.ts'

const smuggled = rawRequest('{"smuggled":true}')

/** Bytes that are not one clear HTTP request. */
const malformed: Record<string, string> = {
  'Content-Length and Transfer-Encoding': rawRequest('0\r\n\r\n', {
    headers: ['Content-Length: 5', 'Transfer-Encoding: chunked'],
  }),
  'Transfer-Encoding and Content-Length': rawRequest('0\r\n\r\n', {
    headers: ['Transfer-Encoding: chunked', 'Content-Length: 5'],
  }),
  'two different Content-Lengths': rawRequest('{}', { headers: ['Content-Length: 2', 'Content-Length: 20'] }),
  'two equal Content-Lengths': rawRequest('{}', { headers: ['Content-Length: 2', 'Content-Length: 2'] }),
  'a list of Content-Lengths': rawRequest('{}', { headers: ['Content-Length: 2, 2'] }),
  'a signed Content-Length': rawRequest('{}', { headers: ['Content-Length: +2'] }),
  'a hexadecimal Content-Length': rawRequest('{}', { headers: ['Content-Length: 0x2'] }),
  'an unknown transfer coding': rawRequest('0\r\n\r\n', { headers: ['Transfer-Encoding: xchunked'] }),
  'chunked not last': rawRequest('0\r\n\r\n', { headers: ['Transfer-Encoding: chunked, identity'] }),
  'chunked by half': rawRequest('0\r\n\r\n', { headers: ['Transfer-Encoding: chunke'] }),
  'a space before the colon': rawRequest('{}', { headers: ['Content-Length : 2'] }),
  'a tab before the colon': rawRequest('0\r\n\r\n', { headers: ['Transfer-Encoding\t: chunked'] }),
  'a folded header': rawRequest('{}', { headers: ['X-A: b', ' c: d', 'Content-Length: 2'] }),
  'a bare line feed between headers': rawRequest('{}').replace('\r\nAuthorization', '\nAuthorization'),
  'a bare line feed before the body': rawRequest('{}').replace('\r\n\r\n', '\r\n\n'),
  'a bare carriage return': rawRequest('{}').replace('\r\nAuthorization', '\rAuthorization'),
  'a NUL in a header': rawRequest('{}', { headers: ['X-A: b\0c', 'Content-Length: 2'] }),
  'a header without a colon': rawRequest('{}', { headers: ['nonsense', 'Content-Length: 2'] }),
  'a bad chunk size': rawRequest('zz\r\n{}\r\n0\r\n\r\n', { headers: ['Transfer-Encoding: chunked'] }),
  'a negative chunk size': rawRequest('-2\r\n{}\r\n0\r\n\r\n', { headers: ['Transfer-Encoding: chunked'] }),
  'a chunk that is longer than it says': rawRequest('1\r\n{}\r\n0\r\n\r\n', {
    headers: ['Transfer-Encoding: chunked'],
  }),
  'a chunk that ends with a bare line feed': rawRequest('2\r\n{}\n0\r\n\r\n', {
    headers: ['Transfer-Encoding: chunked'],
  }),
  'an unknown method': rawRequest('{}').replace('POST', 'POKE'),
  'a method in lower case': rawRequest('{}').replace('POST', 'post'),
  'a wrong version': rawRequest('{}').replace('HTTP/1.1', 'HTTP/3.7'),
  'no version': rawRequest('{}').replace(' HTTP/1.1', ''),
  'version 2 in the first line': rawRequest('{}').replace('HTTP/1.1', 'HTTP/2.0'),
  'chunks in HTTP/1.0': rawRequest('2\r\n{}\r\n0\r\n\r\n', { headers: ['Transfer-Encoding: chunked'] }).replace(
    'HTTP/1.1',
    'HTTP/1.0',
  ),
  'no host': rawRequest('{}').replace('Host: localhost\r\n', ''),
  'an absolute address': rawRequest('{}', { path: 'http://localhost/hooks/echo' }),
  'an address without a slash': rawRequest('{}', { path: 'hooks/echo' }),
  'an asterisk': rawRequest('{}', { path: '*' }).replace('POST', 'OPTIONS'),
  'a tunnel': rawRequest('{}', { path: 'localhost:80' }).replace('POST', 'CONNECT'),
  'another protocol': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello there, this is TLS\r\n\r\n',
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
}

describe('malformed bytes', () => {
  it.each(Object.entries(malformed))(
    '%s: one 400 in the envelope, the end, and nothing behind it is executed',
    async (_name, bytes) => {
      const { port, reached, lines } = await startApp()
      const received = await exchange(port, bytes + smuggled)
      expect(statusLines(received)).toEqual(['400'])
      const [head = '', body = ''] = received.split('\r\n\r\n')
      expect(head.toLowerCase()).toContain('connection: close')
      expect(head.toLowerCase()).toMatch(/x-request-id: [0-9a-f]{12}-/)
      expect(head.toLowerCase()).toContain('x-content-type-options: nosniff')
      expect(head.toLowerCase()).toContain('referrer-policy: no-referrer')
      expect(head.toLowerCase()).toContain('content-type: application/json; charset=utf-8')
      expect(JSON.parse(body)).toEqual({ ok: false, error: { type: 'malformed_http', message: expect.any(String) } })
      expect(JSON.stringify(reached)).not.toContain('smuggled')
      expect(lines).toHaveLength(1)
      expect(lines[0]).not.toContain(token)
    },
  )

  it('after a request under way are answered after that request', async () => {
    const { promise: beforeReply, resolve: open } = Promise.withResolvers<void>()
    const { port, reached, lines } = await startApp({ beforeReply: () => beforeReply })
    const { socket, ended } = rawConnection(port)
    socket.write(rawRequest('{"good":1}') + malformed['two different Content-Lengths']! + smuggled)
    while (reached.length === 0) await new Promise((resolve) => setImmediate(resolve))
    open()
    expect(statusLines(await ended)).toEqual(['200', '400'])
    expect(reached).toEqual([{ good: 1 }])
    expect(lines).toHaveLength(1)
  })

  it('in a body after its reply was sent get no second reply', async () => {
    const { port, reached } = await startApp()
    const { socket, until, ended } = rawConnection(port)
    socket.write(rawRequest('', { headers: ['Transfer-Encoding: chunked'] }).replace('Bearer ', 'Bearer x'))
    await until('unauthorized')
    socket.write('zz\r\n' + smuggled)
    socket.end()
    expect(statusLines(await ended)).toEqual(['401'])
    expect(reached).toEqual([])
  })

  it('followed by a reset do no harm', async () => {
    const { port, url } = await startApp()
    for (const bytes of Object.values(malformed)) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => {})
      await new Promise((resolve) => socket.write(bytes, resolve))
      socket.resetAndDestroy()
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
  })
})

describe('well-formed requests', () => {
  it('are answered in order when pipelined', async () => {
    const { port, reached } = await startApp()
    const last = rawRequest('{"n":3}', { headers: ['Content-Length: 7', 'Connection: close'] })
    const received = await exchange(port, rawRequest('{"n":1}') + rawRequest('{"n":2}') + last)
    expect(statusLines(received)).toEqual(['200', '200', '200'])
    expect(reached).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }])
  })

  it('may arrive in single bytes and odd chunks', async () => {
    const { port, reached } = await startApp()
    const chunks = '1;ext=1\r\n{\r\n8\r\n"a":"b"}\r\n0\r\nX-Trailer: 1\r\n\r\n'
    const { socket, ended } = rawConnection(port)
    socket.setNoDelay(true)
    for (const byte of rawRequest(chunks, { headers: ['Transfer-Encoding: chunked', 'Connection: close'] })) {
      await new Promise((resolve) => socket.write(byte, resolve))
    }
    expect(statusLines(await ended)).toEqual(['200'])
    expect(reached).toEqual([{ a: 'b' }])
  })

  it('may send Expect: 100-continue or an unknown expectation', async () => {
    const { port } = await startApp()
    const ask = (expectation: string) =>
      exchange(
        port,
        rawRequest('{}', { headers: [`Expect: ${expectation}`, 'Content-Length: 2', 'Connection: close'] }),
      )
    expect(statusLines(await ask('100-continue'))).toEqual(['100', '200'])
    expect(statusLines(await ask('wonders'))).toEqual(['200'])
  })

  it('may use HTTP/1.0', async () => {
    const { port } = await startApp()
    expect(statusLines(await exchange(port, rawRequest('{}').replace('HTTP/1.1', 'HTTP/1.0')))).toEqual(['200'])
  })

  it('after one that closes the connection are not executed', async () => {
    const { port, reached } = await startApp()
    const tooLarge = `40001\r\n${'x'.repeat(0x40001)}\r\n0\r\n\r\n`
    expect(
      statusLines(await exchange(port, rawRequest(tooLarge, { headers: ['Transfer-Encoding: chunked'] }) + smuggled)),
    ).toEqual(['413'])
    expect(reached).toEqual([])
  })
})

describe('headers', () => {
  const lines = (count: number) => Array.from({ length: count }, (_none, index) => `X-${index}: ${index}`)

  it('are limited to 100', async () => {
    const { port } = await startApp()
    // Host, Authorization, Content-Length and Connection are four of them.
    const send = (count: number) =>
      exchange(port, rawRequest('{}', { headers: [...lines(count - 4), 'Content-Length: 2', 'Connection: close'] }))
    expect(statusLines(await send(100))).toEqual(['200'])
    for (const count of [101, 102, 400]) {
      const received = await send(count)
      expect(statusLines(received)).toEqual(['431'])
      expect(received.toLowerCase()).toContain('connection: close')
    }
    expect(statusLines(await send(2_000))).toEqual(['431'])
  })

  it('are limited to 16 KiB in total', async () => {
    const { port, lines: logged } = await startApp()
    for (const header of [`X-Big: ${'x'.repeat(20_000)}`, `Authorization: Bearer ${'x'.repeat(65_536)}`]) {
      const received = await exchange(port, rawRequest('{}', { headers: [header] }))
      expect(statusLines(received)).toEqual(['431'])
      expect(received).toContain('"type":"headers_too_large"')
    }
    expect(logged).toHaveLength(2)
  })

  it('include the URL: one of 20 KB is refused', async () => {
    const { port } = await startApp()
    expect(statusLines(await exchange(port, rawRequest('{}', { path: `/hooks/${'n'.repeat(20_000)}` })))).toEqual([
      '431',
    ])
  })
})

describe('the server', () => {
  it('limits times and keeps idle connections longer than proxies do', async () => {
    const { app } = await startApp()
    const { headersTimeout, requestTimeout, keepAliveTimeout, maxRequestsPerSocket, timeout } = app.server
    expect({ headersTimeout, requestTimeout, maxRequestsPerSocket, timeout }).toEqual({
      headersTimeout: 15_000,
      requestTimeout: 30_000,
      maxRequestsPerSocket: 0,
      timeout: 0,
    })
    expect(keepAliveTimeout).toBeGreaterThan(600_000)
  })

  it('answers while a thousand connections are idle', async () => {
    const { port, url, lines } = await startApp()
    const silent = Array.from({ length: 1_000 }, () => rawConnection(port))
    await Promise.all(silent.map(({ socket }) => new Promise((resolve) => socket.once('connect', resolve))))
    const response = await fetch(`${url}/hooks/echo`, { method: 'POST', body: '{}', headers: bearer })
    expect(response.status).toBe(200)
    for (const { socket } of silent) socket.destroy()
    expect(lines).toEqual([])
  })
})

describe('a client that ends its side after its request', () => {
  it('gets its reply, also one that takes a while, and then the end', async () => {
    const fin = Promise.withResolvers<void>()
    const { port } = await startApp({ beforeReply: () => fin.promise })
    const { socket, ended } = rawConnection(port)
    socket.end(rawRequest('{"a":1}'))
    await once(socket, 'finish')
    // The server, which is in this process, reads the end of the connection.
    for (let turn = 0; turn < 10; turn++) await nextTurn()
    fin.resolve()
    const received = await ended
    expect(statusLines(received)).toEqual(['200'])
    expect(received).toContain('"a":1')
  })
})

describe('a header that has one value', () => {
  it('is refused when it is repeated: Content-Type', async () => {
    const { port } = await startApp()
    const types = [
      'Content-Type: application/json',
      'Content-Type: text/plain',
      'Content-Length: 2',
      'Connection: close',
    ]
    const received = await exchange(port, rawRequest('{}', { headers: types }))
    expect(statusLines(received)).toEqual(['400'])
    expect(received).toContain('"malformed_header"')
  })
})
