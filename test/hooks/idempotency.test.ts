// Idempotency-Key: a repeated request starts nothing new, also after a restart.
import { createHmac } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { type Answer, hookToken, shareGateway, startGateway, temporaryFolder } from '../helpers.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const run = { message: 'hi', wakeMode: 'next-heartbeat', deliver: false }
const key = (value: string) => ({ 'idempotency-key': value })
const isReplay = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'

describe('Idempotency-Key', () => {
  const { post } = shareGateway({ agents })

  it('returns the first reply for the same request', async () => {
    const [first, second] = [await post('/hooks/agent', run, key('a')), await post('/hooks/agent', run, key('a'))]
    expect([isReplay(first), isReplay(second)]).toEqual([false, true])
    expect(second.body).toEqual(first.body)
    expect((await post('/hooks/agent', run, key('A'))).body.runId).not.toBe(first.body.runId)
  })

  it('does the same for wakes', async () => {
    const [first, second] = [
      await post('/hooks/wake', { text: 'x' }, key('w')),
      await post('/hooks/wake', { text: 'x' }, key('w')),
    ]
    expect(second.body).toEqual(first.body)
    expect(isReplay(second)).toBe(true)
  })

  it('starts one run for a hundred simultaneous requests', async () => {
    const answers = await Promise.all(Array.from({ length: 100 }, () => post('/hooks/agent', run, key('hundred'))))
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
    expect(answers.filter(isReplay)).toHaveLength(99)
  })

  it('returns 422 for the same key with another body, even when only white space differs', async () => {
    await post('/hooks/agent', JSON.stringify(run), key('b'))
    const answer = await post('/hooks/agent', `${JSON.stringify(run)} `, key('b'))
    expect(answer).toMatchObject({ status: 422, body: { error: { type: 'idempotency_conflict' } } })
    expect((await post('/hooks/agent', run, key('b'))).status).toBe(200)
  })

  it('is scoped by hook', async () => {
    const body = { message: 'hi', text: 'hi', deliver: false, wakeMode: 'next-heartbeat' }
    expect((await post('/hooks/agent', body, key('c'))).body).toHaveProperty('runId')
    expect((await post('/hooks/wake', body, key('c'))).body).toHaveProperty('eventId')
  })

  it('returns 400 when it is blank or longer than 256 characters', async () => {
    expect((await post('/hooks/agent', run, key('k'.repeat(256)))).status).toBe(200)
    for (const value of ['k'.repeat(257), '', ' ']) {
      expect(await post('/hooks/agent', run, key(value))).toMatchObject({
        status: 400,
        body: { error: { message: expect.stringContaining('Idempotency-Key') } },
      })
    }
  })

  it('is stored for accepted requests only, after the body was validated', async () => {
    await post('/hooks/agent', run, key('d'))
    expect((await post('/hooks/agent', { ...run, message: '' }, key('d'))).status).toBe(400)
    expect((await post('/hooks/agent', { ...run, message: '' }, key('e'))).status).toBe(400)
    const accepted = await post('/hooks/agent', run, key('e'))
    expect([accepted.status, isReplay(accepted)]).toEqual([200, false])
  })

  it('waits for the run of the first request with Prefer: wait', async () => {
    const first = await post('/hooks/agent', run, key('f'))
    const second = await post('/hooks/agent', run, { ...key('f'), prefer: 'wait=20' })
    expect(second.body).toMatchObject({
      runId: first.body.runId,
      status: 'succeeded',
      reply: expect.stringContaining('hi'),
    })
    expect(isReplay(second)).toBe(true)
  })
})

describe('two keys', () => {
  it('return 400, because one of them would be ignored', async () => {
    const { url } = await startGateway({ agents })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const body = JSON.stringify(run)
    const head = [
      'Host: x',
      `Authorization: Bearer ${hookToken}`,
      `Content-Length: ${body.length}`,
      'Connection: close',
      'Idempotency-Key: a',
      'Idempotency-Key: b',
    ]
    socket.write(`POST /hooks/agent HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [^]*"malformed_header"/)
  })
})

describe('the delivery id of a preset', () => {
  it('returns 400 when its header is repeated', async () => {
    const { url } = await startGateway({ agents, hooks: { presets: ['github'], github: { auth: { secret: 's' } } } })
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const body = JSON.stringify({ action: 'opened', repository: { full_name: 'a/b' }, sender: { login: 'c' } })
    const head = [
      'Host: x',
      `X-Hub-Signature-256: sha256=${createHmac('sha256', 's').update(body).digest('hex')}`,
      'X-GitHub-Event: issues',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
      'X-GitHub-Delivery: a',
      'X-GitHub-Delivery: b',
    ]
    socket.write(`POST /hooks/github HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${body}`)
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 [^]*"malformed_header"/)
  })
})

describe('after a restart', () => {
  it('the key is still stored', async () => {
    const dir = temporaryFolder()
    const before = await startGateway({ agents }, dir)
    const first = await before.post('/hooks/agent', run, key('a'))
    await before.gateway.close()
    const after = await startGateway({ agents }, dir)
    const second = await after.post('/hooks/agent', run, key('a'))
    expect([second.body, isReplay(second)]).toEqual([first.body, true])
    expect((await after.post('/hooks/agent', { ...run, message: 'other' }, key('a'))).status).toBe(422)
  })
})
