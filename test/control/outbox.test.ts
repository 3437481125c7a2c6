// Tests the outbox over HTTP.
import { describe, expect, it } from 'vitest'
import { type Chat, startChat } from '../doubles/chat.ts'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }
const still = { agents: { defaults: { heartbeat: { every: 0 } } } }

async function start(prepare: (chat: Chat) => void = () => undefined) {
  const chat = await startChat()
  prepare(chat)
  const dir = temporaryFolder()
  const running = await startGateway({ ...still, ...chat.config(dir, { 'chat-none': {} }) }, dir)
  const say = async (fields: object) => {
    const { body } = await running.post(
      '/hooks/agent',
      { message: 'hi', channel: 'chat-none', wakeMode: 'next-heartbeat', ...fields },
      { prefer: 'wait=30' },
    )
    return body.runId as string
  }
  return { chat, say, ...running }
}

describe('GET /api/outbox', () => {
  it('lists deliveries and their status, newest first', async () => {
    const { chat, say, get } = await start((chat) =>
      chat.script({ answer: { outcome: 'failed', reason: 'permanent', detail: 'No such room.' } }),
    )
    const [failed, sent] = [await say({ to: 'nowhere' }), await say({ to: 'room' })]
    await chat.holds(1)
    const items = async (query = '') => (await get(`/api/outbox${query}`)).body.items
    await expect.poll(async () => (await items('?status=sent')).length).toBe(1)
    const text = expect.stringContaining('rules model')
    expect(await items()).toMatchObject([
      {
        id: `${sent}:0`,
        runId: sent,
        channel: 'chat-none',
        accountId: 'default',
        to: 'room',
        text,
        status: 'sent',
        attempts: 1,
      },
      { id: `${failed}:0`, to: 'nowhere', status: 'failed', reason: 'No such room.' },
    ])
    expect(await items('?status=failed&channel=chat-none')).toHaveLength(1)
    expect(await items('?channel=console')).toEqual([])
    const first = (await get('/api/outbox?limit=1')).body
    expect(await items(`?limit=1&cursor=${first.next}`)).toMatchObject([{ id: `${failed}:0` }])
  })
})

describe('POST /api/outbox/:id/retry', () => {
  it.each([
    ['failed', { answer: { outcome: 'failed', reason: 'permanent', detail: 'No such room.' } }],
    ['unknown', 'lose'],
  ] as const)('retries a delivery that is %s', async (status, answer) => {
    const { chat, say, get, post } = await start((chat) => chat.script(answer))
    const id = `${await say({ to: 'room' })}:0`
    await expect.poll(async () => (await get(`/api/outbox?status=${status}`)).body.items.length).toBe(1)
    expect(await post(`/api/outbox/${encodeURIComponent(id)}/retry`, {}, operator)).toMatchObject({
      status: 200,
      body: { ok: true, deliveryId: id },
    })
    expect(await chat.attempted(2)).toMatchObject([{ to: 'room' }, { to: 'room' }])
    await expect.poll(async () => (await get('/api/outbox')).body.items[0].status).toBe('sent')
  })

  it('refuses deliveries that are sent, have no recipient, or do not exist', async () => {
    const { chat, say, post, get } = await start()
    const sent = `${await say({ to: 'room' })}:0`
    await chat.holds(1)
    await expect.poll(async () => (await get('/api/outbox?status=sent')).body.items.length).toBe(1)
    const retry = (id: string) => post(`/api/outbox/${id}/retry`, {}, operator)
    expect(await retry(sent)).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('this one is sent') } },
    })
    expect(await retry(`${await say({})}:0`)).toMatchObject({
      status: 409,
      body: { error: { message: expect.stringContaining('no recipient') } },
    })
    expect(await retry('nothing')).toMatchObject({ status: 404, body: { error: { type: 'delivery_not_found' } } })
  })
})
