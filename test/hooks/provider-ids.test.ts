// Ids that a provider assigns to its requests: the same id is the same request, whatever else has changed in it.
import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { type Answer, shareGateway } from '../helpers.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const quiet = { deliver: false, wakeMode: 'next-heartbeat' }
const secret = 'a secret of the sender'
const hex = (text: string) => createHmac('sha256', secret).update(text).digest('hex')
const without = { authorization: '' }
const isReplay = ({ headers }: Answer) => headers.get('idempotent-replayed') === 'true'

/** Expects the same run and the header of a replayed reply. */
function expectReplay(again: Answer, first: Answer): void {
  expect(first).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
  expect({ status: again.status, body: again.body, replayed: isReplay(again) }).toEqual({
    status: 200,
    body: first.body,
    replayed: true,
  })
}

function expectOwnRun(other: Answer, first: Answer): void {
  expect(other).toMatchObject({ status: 200, body: { runId: expect.any(String) } })
  expect(isReplay(other)).toBe(false)
  expect(other.body.runId).not.toBe(first.body.runId)
}

describe('a request that its provider sends again', () => {
  const { post } = shareGateway({
    agents,
    hooks: {
      presets: ['linear', 'gmail', 'stripe', 'github', 'gitlab'],
      linear: { ...quiet, auth: { secret } },
      gmail: quiet,
      stripe: { ...quiet, auth: { secret } },
      github: { ...quiet, auth: { secret } },
      gitlab: { ...quiet, auth: { secret } },
      mappings: [
        { match: { path: 'once' }, ...quiet, idempotencyKey: '{{ id }}', messageTemplate: 'x' },
        {
          match: { path: 'signed' },
          auth: { scheme: 'hmac', header: 'X-Sign', secret },
          ...quiet,
          idempotencyKey: '{{ id }}',
          messageTemplate: 'x',
        },
        { match: { path: 'two', source: 'a' }, ...quiet, idempotencyKey: '{{ id }}', messageTemplate: 'x' },
        { match: { path: 'two' }, ...quiet, idempotencyKey: '{{ id }}', messageTemplate: 'x' },
      ],
    },
  })

  const linear = (webhookTimestamp: number, id = 'e5f1c4a2-0001') => {
    const body = JSON.stringify({
      action: 'create',
      type: 'Issue',
      createdAt: '2026-11-22T01:00:00.000Z',
      data: {
        id: '2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9',
        identifier: 'ENG-7',
        title: 'It is broken',
        team: { name: 'Eng' },
      },
      url: 'https://linear.app/acme/issue/ENG-7',
      webhookTimestamp,
      webhookId: '000042e3-d123-4980-b49f-8e140eef9329',
    })
    return post('/hooks/linear', body, {
      ...without,
      'linear-delivery': id,
      'linear-event': 'Issue',
      'linear-signature': hex(body),
    })
  }

  it('is a duplicate for Linear, whose retries carry a new time', async () => {
    const first = await linear(Date.now())
    expectReplay(await linear(Date.now() + 1000), first)
    expectOwnRun(await linear(Date.now(), 'e5f1c4a2-0002'), first)
  })

  it('is a duplicate for Linear when a hundred attempts arrive at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, count) => linear(Date.now() + count, 'e5f1c4a2-0100')),
    )
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.runId}`)).size).toBe(1)
    expect(answers.filter(isReplay)).toHaveLength(99)
  })

  it('is a duplicate for Pub/Sub, which counts its attempts', async () => {
    const data = Buffer.from('{"emailAddress":"ada@example.com","historyId":9876543210}').toString('base64')
    const message = {
      data,
      messageId: '2070443601311540',
      message_id: '2070443601311540',
      publishTime: '2026-11-22T01:00:00.5Z',
    }
    const send = (deliveryAttempt: number) =>
      post('/hooks/gmail', { message, subscription: 'projects/p/subscriptions/s', deliveryAttempt })
    const first = await send(1)
    expectReplay(await send(2), first)
  })

  const stripe = (changes: object, headers: Record<string, string> = {}) => {
    const body = JSON.stringify({
      id: 'evt_1NG8Du2eZvKYlo2CUI79vXWy',
      object: 'event',
      type: 'invoice.payment_failed',
      created: 1_686_089_970,
      data: { object: { id: 'in_1', object: 'invoice', amount_due: 1000, currency: 'eur', customer: 'cus_1' } },
      livemode: false,
      pending_webhooks: 2,
      request: { id: null, idempotency_key: null },
      ...changes,
    })
    const time = Math.floor(Date.now() / 1000)
    return post('/hooks/stripe', body, {
      ...without,
      'stripe-signature': `t=${time},v1=${hex(`${time}.${body}`)}`,
      ...headers,
    })
  }

  it('is a duplicate for Stripe, whose pending_webhooks changes, unless its type differs', async () => {
    const first = await stripe({})
    expectReplay(await stripe({ pending_webhooks: 1 }), first)
    expectOwnRun(await stripe({ type: 'charge.failed' }), first)
  })

  it('is a duplicate under another Idempotency-Key where the signature covers the id', async () => {
    const first = await stripe({ id: 'evt_2' }, { 'idempotency-key': 'a' })
    expectReplay(await stripe({ id: 'evt_2' }, { 'idempotency-key': 'b' }), first)
    expectReplay(await stripe({ id: 'evt_2' }), first)
    const signed = (body: string, key: string) =>
      post('/hooks/signed', body, { ...without, 'x-sign': hex(body), 'idempotency-key': key })
    const other = await signed('{"id":1}', 'a')
    expectReplay(await signed('{"id":1}', 'b'), other)
    // Without an id in the body the header is all that there is.
    const nameless = await signed('{}', 'c')
    expectReplay(await signed('{}', 'c'), nameless)
    expect((await signed('{"x":1}', 'c')).status).toBe(422)
  })

  it('is identified by Idempotency-Key rather than by an id that the signature does not cover', async () => {
    const body = JSON.stringify({
      action: 'opened',
      issue: { number: 7, title: 'T', html_url: 'https://github.com/a/b/issues/7' },
      repository: { full_name: 'a/b' },
    })
    const send = (id: string, key: string) =>
      post('/hooks/github', body, {
        ...without,
        'x-github-event': 'issues',
        'x-github-delivery': id,
        'x-hub-signature-256': `sha256=${hex(body)}`,
        ...(key && { 'idempotency-key': key }),
      })
    const first = await send('d-1', 'k-1')
    expectReplay(await send('d-2', 'k-1'), first)
    expectOwnRun(await send('d-1', ''), first)
  })

  it('is identified by Idempotency-Key alone where the provider sends that header', async () => {
    const note = (id: number) => ({
      object_kind: 'issue',
      project: { path_with_namespace: 'a/b' },
      object_attributes: { iid: id, title: 'T', action: 'open' },
    })
    const send = (id: number, headers: Record<string, string>) =>
      post('/hooks/gitlab', note(id), { ...without, 'x-gitlab-token': secret, ...headers })
    const first = await send(1, { 'idempotency-key': 'f5e5f430-f57b-4e6e-9fac-d9128cd7232f' })
    expectReplay(await send(2, { 'idempotency-key': 'f5e5f430-f57b-4e6e-9fac-d9128cd7232f' }), first)
  })

  it('is a new request for GitLab when one webhook triggers another with the same event id', async () => {
    const note = (id: number) => ({
      object_kind: 'issue',
      project: { path_with_namespace: 'a/b' },
      object_attributes: { iid: id, title: 'T', action: 'open' },
    })
    const send = (id: number) =>
      post('/hooks/gitlab', note(id), {
        ...without,
        'x-gitlab-token': secret,
        'x-gitlab-event-uuid': '13792a34-cac6-4fda-95a8-c58e00a3954e',
      })
    const first = await send(3)
    expectReplay(await send(3), first)
    expectOwnRun(await send(4), first)
  })

  it('is a new request when a caller used the same text as its key', async () => {
    const byCaller = await post('/hooks/once', { id: 'other' }, { 'idempotency-key': '7' })
    const byId = await post('/hooks/once', { id: 7 })
    expectOwnRun(byId, byCaller)
    expectReplay(await post('/hooks/once', { id: 7, attempt: 2 }), byId)
  })

  it('is a new request when another source under the same name used the id', async () => {
    const first = await post('/hooks/two', { id: 1, source: 'a' })
    expectOwnRun(await post('/hooks/two', { id: 1, source: 'b' }), first)
  })

  it('returns 400 when its id is too long', async () => {
    expect((await post('/hooks/once', { id: 'x'.repeat(257) })).body.error.message).toContain(
      'The id of the request is longer',
    )
    expect((await post('/hooks/once', { id: 1 }, { 'idempotency-key': 'x'.repeat(257) })).body.error.message).toContain(
      'Idempotency-Key',
    )
  })
})

describe('two senders of one hook with secrets of their own', () => {
  const secrets = { one: 'the secret of the first sender', two: 'the secret of the second sender' }
  const mapping = (from: keyof typeof secrets) => ({
    match: { path: 'shared', payload: { from } },
    auth: { scheme: 'hmac', header: 'X-Sign', secret: secrets[from] },
    ...quiet,
    idempotencyKey: '{{ id }}',
    messageTemplate: from,
  })
  const { post } = shareGateway({ agents, hooks: { mappings: [mapping('one'), mapping('two')] } })
  const send = (from: keyof typeof secrets, id: string, headers: Record<string, string> = {}) => {
    const body = JSON.stringify({ from, id })
    const signature = createHmac('sha256', secrets[from]).update(body).digest('hex')
    return post('/hooks/shared', body, { ...without, 'x-sign': signature, ...headers })
  }

  it('cannot use up or read the ids and the keys of each other', async () => {
    for (const headers of [{}, { 'idempotency-key': 'a key', prefer: 'wait=20' }] as Record<string, string>[]) {
      const id = `evt-${Object.keys(headers).length}`
      const [first, other] = [await send('one', id, headers), await send('two', id, headers)]
      expectOwnRun(other, first)
      expectReplay(await send('two', id, headers), other)
      expectReplay(await send('one', id, headers), first)
    }
  })
})
