// Forms as webhooks: multipart bodies, fields that hold JSON, and hostile input.
import { describe, expect, it } from 'vitest'
import { gatewayToken, shareGateway } from '../helpers.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const formType = { 'content-type': 'application/x-www-form-urlencoded' }
const multipartType = { 'content-type': 'multipart/form-data; boundary=XX' }

type Part = [header: string, content: string]
const multipart = (...parts: Part[]) => {
  const lines = parts.map(
    ([header, content]) => `--XX\r\nContent-Disposition: form-data; ${header}\r\n\r\n${content}\r\n`,
  )
  return `${lines.join('')}--XX--\r\n`
}

const { post, get } = shareGateway({
  agents: { defaults: { heartbeat: { every: 0 } } },
  hooks: {
    maxBodyBytes: 20_000,
    mappings: [
      { id: 'whole', match: { path: 'form' }, ...quiet, messageTemplate: '{{ payload }}' },
      {
        id: 'pressed',
        match: { path: 'slack', payload: { 'payload.type': 'button' } },
        jsonFields: ['payload', 'more'],
        ...quiet,
        messageTemplate: 'pressed by {{ payload.payload.user.name }}',
        idempotencyKey: '{{ payload.payload.id }}',
      },
      { id: 'text', match: { path: 'text' }, body: 'text', ...quiet, messageTemplate: '{{ text }}|{{ a }}' },
      { id: 'header', match: { path: 'header' }, ...quiet, messageTemplate: '{{ headers.x-name }}' },
      { id: 'other', match: { path: 'slack' }, jsonFields: ['payload'], ...quiet, messageTemplate: '{{ payload }}' },
    ],
  },
})

const read = async (id: string) => (await get(`/api/requests/${id}`)).body
const newest = async (filter = '') => (await get(`/api/requests?limit=1${filter}`)).body.items[0]

/** What the agent would read. */
async function messageOf(path: string, body: string, headers: Record<string, string>) {
  const { status, body: reply } = await post(path, body, headers)
  if (status !== 200) return `${status} ${reply.error.message}`
  const { id } = await newest()
  return (await post(`/api/requests/${id}/replay`, { dryRun: true }, operator)).body.actions[0].message as string
}

describe('a multipart body', () => {
  it('becomes an object of fields, and of files by name, type and size', async () => {
    const body = multipart(
      ['name="title"', 'Grüße'],
      ['name="tag"', 'a'],
      ['name="tag"', 'b'],
      ['name="doc"; filename="C:\\secret\\a.txt"\r\nContent-Type: text/csv', 'content-of-the-file'],
      ['name="blob"; filename="ü.bin"\r\nContent-Type: application/octet-stream', '\0\u0001'],
    )
    const message = await messageOf('/hooks/form', body, multipartType)
    expect(JSON.parse(message)).toEqual({
      title: 'Grüße',
      tag: ['a', 'b'],
      doc: { name: 'a.txt', type: 'text/csv', size: 19 },
      blob: { name: 'ü.bin', type: 'application/octet-stream', size: 2 },
    })
    const stored = await read((await newest()).id)
    expect(stored.body).not.toContain('content-of-the-file')
    expect(JSON.parse(stored.body)).toMatchObject({ title: 'Grüße', doc: { size: 19 } })
  })

  it('may hold binary files', async () => {
    const head = Buffer.from('--XX\r\nContent-Disposition: form-data; name="f"; filename="a.png"\r\n\r\n')
    const bytes = Buffer.concat([head, Buffer.from([0xff, 0xfe, 0, 0x80]), Buffer.from('\r\n--XX--\r\n')])
    expect((await post('/hooks/form', bytes, multipartType)).status).toBe(200)
    expect(JSON.parse((await read((await newest()).id)).body)).toEqual({
      f: { name: 'a.png', type: 'text/plain', size: 4 },
    })
  })

  it('may be empty, and may be JSON when a form was announced', async () => {
    expect(await messageOf('/hooks/form', '', multipartType)).toBe('{}')
    expect(await messageOf('/hooks/form', '--XX--\r\n', multipartType)).toBe('{}')
    expect(await messageOf('/hooks/form', '{"a":1}', formType)).toBe('{"a":1}')
  })

  it.each<[string, string, string]>([
    ['no boundary', multipart(['name="a"', '1']), 'multipart/form-data'],
    ['another boundary', multipart(['name="a"', '1']), 'multipart/form-data; boundary=YY'],
    ['no end', multipart(['name="a"', '1']).slice(0, 54), 'multipart/form-data; boundary=XX'],
    ['no end of a file', multipart(['name="a"; filename="b"', 'c']).slice(0, 70), 'multipart/form-data; boundary=XX'],
    ['something else', '{"a":1}', 'multipart/form-data; boundary=XX'],
  ])('is rejected with %s, and its bytes are not stored', async (_case, body, type) => {
    expect(await post('/hooks/form', body, { 'content-type': type })).toMatchObject({
      status: 400,
      body: {
        error: {
          type: 'invalid_request',
          message: 'The multipart body is not complete, or does not match the boundary in Content-Type.',
        },
      },
    })
    await expect.poll(async () => (await newest())?.status).toBe('rejected')
    expect((await read((await newest()).id)).body).toBeNull()
    await post('/hooks/form', '{}')
  })

  it('is limited in its parts and its size', async () => {
    const parts = (count: number) => multipart(...Array.from({ length: count }, (): Part => ['name="a"', '1']))
    expect((await post('/hooks/form', parts(200), multipartType)).status).toBe(200)
    expect((await post('/hooks/form', parts(201), multipartType)).body.error.message).toBe(
      'The multipart body has more than 200 parts.',
    )
    const large = multipart(['name="a"; filename="b"', 'x'.repeat(20_000)])
    expect((await post('/hooks/form', large, multipartType)).status).toBe(413)
  })

  it('cannot reach a prototype, and loses parts without a name', async () => {
    const hostile = multipart(['name="__proto__"', '{"a":1}'], ['name="constructor"', 'x'], ['filename="a"', 'y'])
    expect(await messageOf('/hooks/form', hostile, multipartType)).toBe('{"constructor":"x"}')
    const nested = multipart(['name="a"\r\nContent-Type: multipart/mixed; boundary=YY', '--YY\r\n\r\nb\r\n--YY--'])
    expect(await messageOf('/hooks/form', nested, multipartType)).toBe(JSON.stringify({ a: '--YY\r\n\r\nb\r\n--YY--' }))
  })

  it('is rejected by the other hooks, which take JSON only', async () => {
    expect((await post('/hooks/wake', multipart(['name="text"', 'x']), multipartType)).status).toBe(400)
  })
})

describe('jsonFields', () => {
  const pressed = { type: 'button', id: 'p-1', user: { name: 'Ada' } }
  const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString()

  it('are read as JSON by templates, conditions and idempotencyKey', async () => {
    const payload = JSON.stringify(pressed)
    const first = await post('/hooks/slack', form({ payload }), formType)
    expect(await read((await newest('&hook=slack')).id)).toMatchObject({ status: 'accepted', body: form({ payload }) })
    const again = await post(
      '/hooks/slack',
      multipart(['name="payload"', payload], ['name="more"', '[1]']),
      multipartType,
    )
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.body).toEqual(first.body)
    const other = form({ payload: JSON.stringify({ ...pressed, id: 'p-2' }) })
    expect(await messageOf('/hooks/slack', other, formType)).toBe('pressed by Ada')
  })

  it('are read in replays of stored forms', async () => {
    const payload = JSON.stringify({ ...pressed, id: 'p-3', user: { name: 'Bea' } })
    expect(await messageOf('/hooks/slack', multipart(['name="payload"', payload]), multipartType)).toBe(
      'pressed by Bea',
    )
  })

  it('may be repeated, blank, absent or a file', async () => {
    expect(await messageOf('/hooks/slack', 'payload=1&payload=%7B%7D', formType)).toBe('{"payload":[1,{}]}')
    expect(await messageOf('/hooks/slack', 'payload=&x=1', formType)).toBe('{"payload":"","x":"1"}')
    const file = multipart(['name="payload"; filename="a.json"', '{"a":1}'])
    expect(await messageOf('/hooks/slack', file, multipartType)).toContain('"size":7')
  })

  it('do not apply to JSON bodies', async () => {
    expect(await messageOf('/hooks/slack', '{"payload":"{}"}', {})).toBe('{"payload":"{}"}')
  })

  it('are rejected if they hold no JSON, nest too deep or hold a number that is out of range', async () => {
    const status = (payload: string) => messageOf('/hooks/slack', form({ payload }), formType)
    expect(await status('{"a":')).toBe('400 The field "payload" must hold JSON text.')
    expect(await status('['.repeat(64) + ']'.repeat(64))).toBe('400 The body nests deeper than 64 levels.')
    expect(await status('['.repeat(63) + ']'.repeat(63))).toContain('{"payload":[[[')
    expect(await status('1e999')).toContain('out of range')
    expect(await status('{"__proto__":{"a":1},"b":2}')).toBe('{"payload":{"b":2}}')
  })
})

describe('a declared charset', () => {
  const latin1 = (text: string) => Buffer.from(text, 'latin1')
  const form = (charset: string) => ({ 'content-type': `application/x-www-form-urlencoded; charset=${charset}` })
  const json = (charset: string) => ({ 'content-type': `application/json;charset="${charset}"` })
  const part = (charset: string, text: Buffer | string, name = 'name="a"') =>
    Buffer.concat([
      latin1(`--XX\r\nContent-Disposition: form-data; ${name}\r\nContent-Type: text/plain; charset=${charset}\r\n\r\n`),
      Buffer.from(text),
      latin1('\r\n--XX--\r\n'),
    ])

  it.each<[string, string | Buffer, Record<string, string>]>([
    ['a form in Latin 1', 'a=Gr%FC%DFe+%80', form('ISO-8859-1')],
    ['a form in Latin 1 without escapes', latin1('a=Gr\xfc\xdfe+\x80'), form('windows-1252')],
    ['a form in UTF-8', 'a=Gr%C3%BC%C3%9Fe+%E2%82%AC', form('utf8')],
    ['JSON in Latin 1', latin1('{"a":"Gr\xfc\xdfe \x80"}'), json('iso-8859-1')],
    ['JSON in UTF-16', Buffer.from('{"a":"Grüße €"}', 'utf16le'), json('UTF-16LE')],
    ['a part in UTF-8', part('UTF-8', 'Grüße €'), multipartType],
  ])('is obeyed, also in a replay: %s', async (_case, body, headers) => {
    expect(await messageOf('/hooks/form', body as string, headers)).toBe('{"a":"Grüße €"}')
  })

  it('is obeyed where a character has a letter as its second byte', async () => {
    expect(await messageOf('/hooks/form', 'a=%83A', form('Shift_JIS'))).toBe('{"a":"ア"}')
    expect(await messageOf('/hooks/form', 'a=%EF%BF%BD&b=%zz&c=\ufffd', formType)).toBe(
      '{"a":"\ufffd","b":"%zz","c":"\ufffd"}',
    )
  })

  it.each<[string, string | Buffer, Record<string, string>]>([
    ['a form that is not UTF-8', 'a=Gr%FC', formType],
    ['a form that declares UTF-8', 'a=Gr%FC', form('utf-8')],
    ['JSON that is not UTF-16', latin1('{"a":1}!'.slice(0, 7)), json('utf-16le')],
    ['an unknown charset', '{"a":1}', json('klingon')],
    ['an unknown charset of a form', 'a=1', form('klingon')],
    ['a part in another charset', part('windows-1252', latin1('\x80')), multipartType],
    ['a part that is not UTF-8', part('utf-8', latin1('Gr\xfc')), multipartType],
  ])('is refused, and never damages text: %s', async (_case, body, headers) => {
    const { status, body: answer } = await post('/hooks/form', body, headers)
    expect({ status, type: answer.error?.type, fix: answer.error?.message.endsWith('send UTF-8.') }).toEqual({
      status: 400,
      type: 'invalid_request',
      fix: true,
    })
  })

  it('does not concern the content of files', async () => {
    const file = part('windows-1252', latin1('\x80'), 'name="a"; filename="a.txt"')
    expect((await post('/hooks/form', file, multipartType)).status).toBe(200)
  })
})

describe('a mapping with body: "text"', () => {
  it.each<[string, string, string]>([
    ['text/plain', 'ETH above 3000', 'ETH above 3000|'],
    ['text/plain; charset=utf-8', '{"a":1}', '{"a":1}|'],
    ['application/xml', '\ufeff<a>ü</a>', '<a>ü</a>|'],
    ['application/x-ndjson', '{"a":1}\n{"a":2}', '{"a":1}\n{"a":2}|'],
    ['application/json', '{"a":1}', '|1'],
    ['application/cloudevents+json; charset=utf-8', '{"a":1,"text":"t"}', 't|1'],
    ['application/x-www-form-urlencoded', 'a=1', '|1'],
  ])('reads %s as it is declared, also in a replay', async (type, body, message) => {
    expect(await messageOf('/hooks/text', body, { 'content-type': type })).toBe(message)
  })

  it('refuses what claims to be JSON and is not', async () => {
    const broken = await post('/hooks/text', '{"a":', { 'content-type': 'application/json' })
    expect(broken).toMatchObject({ status: 400, body: { error: { type: 'invalid_json' } } })
  })

  it('is what a 400 of other mappings names', async () => {
    const { status, body } = await post('/hooks/form', 'ETH above 3000', { 'content-type': 'text/plain' })
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ type: 'invalid_json', message: expect.stringContaining('body: "text"') })
    const direct = await post('/hooks/wake', 'plain', { 'content-type': 'text/plain' })
    expect(direct.body.error.message).not.toContain('body: "text"')
  })

  it('is in the OpenAPI document', async () => {
    const { paths } = (await get('/openapi.json')).body
    const contentOf = (hook: string) => Object.keys(paths[`/hooks/${hook}`].post.requestBody.content)
    expect(contentOf('text')).toContain('text/*')
    expect(contentOf('form')).not.toContain('text/*')
  })
})

it('reads the values of headers as UTF-8 where they are', async () => {
  const asBytes = Buffer.from('Grüße €').toString('latin1')
  expect(await messageOf('/hooks/header', '{}', { 'x-name': asBytes })).toBe('Grüße €')
  expect(await messageOf('/hooks/header', '{}', { 'x-name': 'Gr\xfc\xdfe' })).toBe('Grüße')
  expect((await read((await newest()).id)).headers['x-name']).toBe('Grüße')
})
