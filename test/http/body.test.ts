// Tests bodies: limits, encodings, JSON edge cases and forms.
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type App, bearer, exchange, maxBytes, rawConnection, rawRequest, startApp, statusLines } from './app.ts'

interface Echo {
  status: number
  type?: string
  body?: unknown
  bytes?: number
  raw?: string
}

async function echo({ url }: App, body: string | Buffer, headers: Record<string, string> = {}): Promise<Echo> {
  const response = await fetch(`${url}/hooks/echo`, {
    method: 'POST',
    body: body as string,
    headers: { ...bearer, ...headers },
  })
  const answer = (await response.json()) as { error?: { type: string }; body?: unknown; bytes?: number; raw?: string }
  return { status: response.status, ...answer, ...(answer.error && { type: answer.error.type }) }
}

/** A JSON object of exactly so many bytes. */
const sized = (bytes: number): string => `{"a":"${'x'.repeat(bytes - 8)}"}`

const chunked = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

describe('a body', () => {
  it('reaches the handler as a value and as bytes', async () => {
    const app = await startApp()
    const body = '\ufeff{ "a" : "ü\\u0000" }'
    expect(await echo(app, body)).toMatchObject({
      status: 200,
      body: { a: 'ü\0' },
      raw: Buffer.from(body).toString('base64'),
    })
  })

  it.each([
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    ';;/bad',
    'x',
  ])('is parsed as JSON with any content type: %s', async (type) => {
    expect(await echo(await startApp(), '{"a":1}', { 'content-type': type })).toMatchObject({
      status: 200,
      body: { a: 1 },
    })
  })

  it('is an empty object when it is empty or missing', async () => {
    const app = await startApp()
    expect(await echo(app, '')).toMatchObject({ status: 200, body: {}, bytes: 0 })
    expect(await echo(app, '\ufeff')).toMatchObject({ status: 200, body: {} })
    const received = await exchange(app.port, rawRequest('', { headers: ['Connection: close'] }))
    expect(received).toContain('"body":{}')
    expect(
      await exchange(
        app.port,
        rawRequest('0\r\n\r\n', { headers: ['Transfer-Encoding: chunked', 'Connection: close'] }),
      ),
    ).toContain('"body":{}')
  })

  it.each(['[1]', '[]', 'null', '1', '"x"', 'true'])('that is not an object is refused: %s', async (body) => {
    expect(await echo(await startApp(), body)).toMatchObject({ status: 400, type: 'invalid_request' })
  })

  it.each(['{', '{"a":}', "{'a':1}", '{"a":1}x', 'canary', '{"a":NaN}', '{"a":01}', ' '])(
    'that is not JSON is refused without quoting it: %s',
    async (body) => {
      const app = await startApp()
      expect(await echo(app, body)).toMatchObject({ status: 400, type: 'invalid_json' })
      expect(app.lines.join()).not.toContain('canary')
    },
  )

  it('that is not UTF-8 is refused', async () => {
    const app = await startApp()
    for (const bytes of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xc3]]) {
      expect(
        await echo(app, Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from('"}')])),
      ).toMatchObject({
        status: 400,
        type: 'invalid_json',
      })
    }
  })

  it('may nest 64 levels deep', async () => {
    const app = await startApp()
    const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
    expect((await echo(app, nested(64))).status).toBe(200)
    expect(await echo(app, nested(65))).toMatchObject({ status: 400, type: 'invalid_request' })
    expect(await echo(app, `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)).toMatchObject({
      status: 400,
      type: 'invalid_request',
    })
  })

  it('cannot pollute a prototype', async () => {
    const app = await startApp()
    const body =
      '{"__proto__":{"polluted":1},"\\u005f_proto__":{"polluted":1},"a":[{"__proto__":{"polluted":1}}],' +
      '"constructor":{"prototype":{"polluted":1}}}'
    expect(await echo(app, body)).toMatchObject({
      status: 200,
      body: { a: [{}], constructor: { prototype: { polluted: 1 } } },
    })
    const [value] = app.reached as [Record<string, unknown>]
    expect(Object.keys(value)).toEqual(['a', 'constructor'])
    expect(Object.assign({}, value)['polluted']).toBeUndefined()
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('keeps numbers and refuses those out of range', async () => {
    const app = await startApp()
    expect((await echo(app, '{"a":-0,"b":1e-400,"c":9007199254740993,"a":2}')).body).toEqual({
      a: 2,
      b: 0,
      c: 9007199254740992,
    })
    expect(await echo(app, '{"a":[1e400]}')).toMatchObject({ status: 400, type: 'invalid_request' })
  })

  it('may have many keys', async () => {
    const body = `{${Array.from({ length: 20_000 }, (_none, index) => `"k${index}":0`).join()}}`
    expect((await echo(await startApp(), body)).status).toBe(200)
  })

  it('must not be compressed', async () => {
    const app = await startApp()
    for (const encoding of ['gzip', 'br', 'identity, gzip', 'x']) {
      expect(await echo(app, '{}', { 'content-encoding': encoding })).toMatchObject({
        status: 415,
        type: 'unsupported_encoding',
      })
    }
    expect((await echo(app, '{}', { 'content-encoding': 'Identity' })).status).toBe(200)
  })
})

describe('the limit', () => {
  it('accepts exactly maxBytes and not one byte more', async () => {
    const app = await startApp()
    expect(await echo(app, sized(maxBytes))).toMatchObject({ status: 200, bytes: maxBytes })
    expect(await echo(app, sized(maxBytes + 1))).toMatchObject({ status: 413, type: 'payload_too_large' })
    expect(app.reached).toHaveLength(1)
  })

  it('applies to chunked bodies, too', async () => {
    const { port } = await startApp()
    const send = (size: number) =>
      exchange(
        port,
        rawRequest(chunked(sized(size)) + '0\r\n\r\n', {
          headers: ['Transfer-Encoding: chunked', 'Connection: close'],
        }),
      )
    expect(await send(maxBytes)).toContain(`"bytes":${maxBytes}`)
    expect(statusLines(await send(maxBytes + 1))).toEqual(['413'])
  })

  it('is reported at once, while the client still writes', async () => {
    const { port, lines } = await startApp()
    const { socket, until, ended } = rawConnection(port)
    socket.write(rawRequest('', { headers: [`Content-Length: ${10 * maxBytes}`] }))
    expect(await until('payload_too_large')).toContain('connection: close')
    // The client continues to write. The server reads and does not reset the connection.
    for (let part = 0; part < 10; part++) await new Promise((resolve) => socket.write('x'.repeat(maxBytes), resolve))
    socket.end()
    expect(statusLines(await ended)).toEqual(['413'])
    expect(lines).toHaveLength(1)
  })

  it('is reported to a client that reads only after it has written everything', async () => {
    const { port } = await startApp()
    for (const headers of [[`Content-Length: ${12 * 1_048_576}`], ['Transfer-Encoding: chunked']]) {
      const { socket, ended } = rawConnection(port)
      socket.pause()
      socket.write(rawRequest('', { headers }))
      const megabyte =
        headers[0] === 'Transfer-Encoding: chunked' ? chunked('x'.repeat(1_048_576)) : 'x'.repeat(1_048_576)
      for (let part = 0; part < 12; part++) await new Promise((resolve) => socket.write(megabyte, resolve))
      socket.resume()
      expect(statusLines(await ended)).toEqual(['413'])
    }
  })

  it('is reported to fetch', async () => {
    const app = await startApp()
    for (let round = 0; round < 5; round++) expect((await echo(app, sized(8 * 1_048_576))).status).toBe(413)
  })

  it('disconnects a client that never stops writing', async () => {
    const { port } = await startApp()
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      .resume()
      .on('error', () => {})
    onTestFinished(() => void socket.destroy())
    const closed = new Promise((resolve) => socket.once('close', resolve))
    socket.write(rawRequest('', { headers: ['Transfer-Encoding: chunked'] }))
    const megabyte = chunked('x'.repeat(1_048_576))
    const write = (): void => void (socket.writable && socket.write(megabyte, () => write()))
    write()
    await closed
    expect(socket.destroyed).toBe(true)
  }, 15_000)

  it('keeps the connection when the unread rest is small', async () => {
    const { port } = await startApp()
    const bad = rawRequest('{"a":1}').replace('Bearer ', 'Bearer x')
    const received = await exchange(
      port,
      bad + rawRequest('{"b":2}', { headers: ['Content-Length: 7', 'Connection: close'] }),
    )
    expect(statusLines(received)).toEqual(['401', '200'])
  })
})

describe('a client that disconnects', () => {
  it('in the middle of its body never reaches the handler', async () => {
    const { port, url, reached } = await startApp()
    for (const headers of [['Content-Length: 100'], ['Transfer-Encoding: chunked']]) {
      const reset = rawConnection(port)
      await new Promise((resolve) => reset.socket.write(rawRequest('5\r\n{"a":', { headers }), resolve))
      reset.socket.resetAndDestroy()
      const half = rawConnection(port)
      half.socket.end(rawRequest('5\r\n{"a":', { headers }))
      expect(statusLines(await half.ended)).toEqual(['400'])
    }
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    expect(reached).toEqual([])
  })
})

describe('a route group that accepts arrays and forms', () => {
  const open = () => startApp({ accept: 'object-or-array-or-form' })
  const form = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }

  it('accepts an array', async () => {
    expect(await echo(await open(), '[{"a":1}]')).toMatchObject({ status: 200, body: [{ a: 1 }] })
    expect(await echo(await open(), '5')).toMatchObject({ status: 400, type: 'invalid_request' })
  })

  it('converts a form to an object', async () => {
    const app = await open()
    const body = 'text=a+b%26c&tag=1&tag=2&tag=3&empty=&__proto__=x&constructor=y&%C3%BC=%C3%A4'
    expect(await echo(app, body, form)).toMatchObject({
      status: 200,
      body: { text: 'a b&c', tag: ['1', '2', '3'], empty: '', constructor: 'y', ü: 'ä' },
    })
    expect(Object.keys(app.reached[0] as object)).not.toContain('__proto__')
  })

  it('parses JSON that curl declares as a form', async () => {
    expect(await echo(await open(), ' {"a":1}', form)).toMatchObject({ status: 200, body: { a: 1 } })
  })
})
