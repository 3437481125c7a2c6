// The outbox: order for each recipient, retries without duplicates, and plugins that misbehave.
import { describe, expect, it } from 'vitest'
import type { NewDelivery } from '../../core/store/store.ts'
import { type Chat, startChat } from '../doubles/chat.ts'
import { temporaryFolder } from '../helpers.ts'
import { type Rig, startOutbox } from './start-outbox.ts'

const texts = (chat: Chat, to = 'ann') => chat.held.filter((message) => message.to === to).map(({ text }) => text)

describe('a delivery', () => {
  it('is sent with its key, thread and route, and stores the platform id', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    const id = await put({ threadId: 't1', route: { service: 'eu' } })
    expect(await ended(id)).toMatchObject({ status: 'sent', platformId: `id of ${id}:0`, reason: null })
    expect(chat.held).toEqual([
      {
        channel: 'chat-native',
        accountId: 'default',
        key: `${id}:0`,
        to: 'ann',
        text: 'Hi.',
        threadId: 't1',
        route: { service: 'eu' },
      },
    ])
  })

  it.each(['permanent', 'auth'])(
    'is not retried after a permanent failure (%s), and has the reason',
    async (reason) => {
      const chat = await startChat()
      chat.script({ answer: { outcome: 'failed', reason, detail: 'no such room' } })
      const { put, ended } = await startOutbox(chat)
      expect(await ended(await put({}))).toMatchObject({ status: 'failed', reason: 'no such room' })
      expect(await ended(await put({ text: 'next' }))).toMatchObject({ status: 'sent' })
      expect(chat.attempts).toHaveLength(2)
    },
  )

  it('is retried under the same key after a passing failure', async () => {
    const chat = await startChat()
    const transient = { answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } }
    chat.script(transient, transient, transient)
    const { put, ended } = await startOutbox(chat)
    const id = await put({})
    expect(await ended(id)).toMatchObject({ status: 'sent', attempt: 4 })
    expect(chat.attempts.map(({ key }) => key)).toEqual(Array.from({ length: 4 }, () => `${id}:0`))
  })

  it('waits as long as the platform asks after a rate limit', async () => {
    const chat = await startChat()
    chat.script({ answer: { outcome: 'failed', reason: 'rate', detail: 'slow down', retryAfterMs: 3_600_000 } })
    const { put, deliveryOf } = await startOutbox(chat)
    const before = Date.now()
    const id = await put({})
    await expect.poll(async () => (await deliveryOf(id)).reason).toBe('slow down')
    const { status, nextAt } = await deliveryOf(id)
    expect(status).toBe('pending')
    expect(nextAt).toBeGreaterThanOrEqual(before + 3_600_000)
    expect(nextAt).toBeLessThanOrEqual(Date.now() + 3_600_000)
  })

  it('is given up at last and stays as failed, with its reason', async () => {
    const chat = await startChat()
    chat.script({
      answer: { outcome: 'failed', reason: 'rate', detail: 'come back next year', retryAfterMs: 31_536_000_000 },
    })
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({}))).toMatchObject({ status: 'failed', reason: 'come back next year' })
  })

  it('fails with a reason if its account is not configured', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({ accountId: 'other' }))).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('not configured'),
    })
  })

  it('waits for a channel that cannot connect yet', async () => {
    const chat = await startChat()
    chat.refuse(3)
    const { put, ended, logged } = await startOutbox(chat)
    expect(await ended(await put({}))).toMatchObject({ status: 'sent' })
    expect(logged.filter((line) => line.includes('could not connect') && line.includes('answered 500'))).toHaveLength(3)
  })
})

describe('a delivery whose response was lost', () => {
  it('is sent again if the platform drops duplicates by key', async () => {
    const chat = await startChat()
    chat.script('lose', 'drop')
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({ channel: 'chat-native' }))).toMatchObject({ status: 'sent' })
    expect(chat.attempts).toHaveLength(3)
    expect(texts(chat)).toEqual(['Hi.'])
  })

  it('is looked up if the platform allows it, and sent again only if it is absent', async () => {
    const chat = await startChat()
    chat.script('lose', 'drop')
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({ channel: 'chat-reconcile', text: 'one' }))).toMatchObject({
      status: 'sent',
      attempt: 1,
    })
    expect(await ended(await put({ channel: 'chat-reconcile', text: 'two' }))).toMatchObject({
      status: 'sent',
      attempt: 2,
    })
    expect(chat.attempts.map(({ text }) => text)).toEqual(['one', 'two', 'two'])
    expect(texts(chat)).toEqual(['one', 'two'])
  })

  it('is looked up later, and not sent meanwhile, if the platform cannot be asked', async () => {
    const chat = await startChat()
    chat.script('lose')
    chat.scriptReconcile('fail', 'hang', 'fail')
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({ channel: 'chat-reconcile' }))).toMatchObject({ status: 'sent' })
    expect(chat.attempts).toHaveLength(1)
  })

  it('is looked up twice if it may still be in flight', async () => {
    const chat = await startChat()
    chat.script({ acceptAfterReconciles: 1 })
    const { put, ended } = await startOutbox(chat, { limits: { sendMs: 300 } })
    expect(await ended(await put({ channel: 'chat-reconcile' }))).toMatchObject({ status: 'sent' })
    expect(texts(chat)).toEqual(['Hi.'])
    expect(chat.attempts).toHaveLength(1)
  })

  it('ends as unknown if the platform cannot look it up', async () => {
    const chat = await startChat()
    chat.script('lose', 'lose')
    chat.scriptReconcile('unknown')
    const { put, ended } = await startOutbox(chat)
    for (const channel of ['chat-reconcile', 'chat-none']) {
      expect(await ended(await put({ channel }))).toMatchObject({ status: 'unknown', reason: 'The answer was lost.' })
    }
    expect(chat.attempts).toHaveLength(2)
  })

  it('ends as unknown, not as failed, when it is given up', async () => {
    const chat = await startChat()
    chat.script(...Array.from({ length: 1000 }, () => 'lose' as const))
    const { put, ended } = await startOutbox(chat, { limits: { giveUpMs: 100 } })
    expect(await ended(await put({ channel: 'chat-native' }))).toMatchObject({ status: 'unknown' })
    expect(texts(chat)).toEqual(['Hi.'])
  })
})

describe('a plugin that misbehaves', () => {
  it.each([
    ['throws', 'throw' as const],
    ['hangs', 'hang' as const],
    ['answers nothing', { answer: null }],
    ['answers a number', { answer: 42 }],
    ['answers an unknown outcome', { answer: { outcome: 'fine' } }],
    ['answers an unknown reason', { answer: { outcome: 'failed', reason: 'bad mood', detail: 'x' } }],
    ['gives no detail', { answer: { outcome: 'unknown' } }],
  ])('and %s blocks neither its recipient nor the gateway', async (_case, script) => {
    const chat = await startChat()
    chat.script(script)
    const { put, ended } = await startOutbox(chat)
    const first = await put({ channel: 'chat-none', text: 'one' })
    const second = await put({ channel: 'chat-none', text: 'two' })
    expect(await ended(first)).toMatchObject({ status: 'unknown', reason: expect.stringMatching(/\.$/) })
    expect(await ended(second)).toMatchObject({ status: 'sent' })
  })

  it.each([[Number.NaN], [-5], ['soon'], [0]])('and asks to wait %s ms is retried soon', async (retryAfterMs) => {
    const chat = await startChat()
    chat.script({ answer: { outcome: 'failed', reason: 'rate', detail: 'x', retryAfterMs } })
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({}))).toMatchObject({ status: 'sent', attempt: 2 })
  })

  it('and never ends does not delay the stop', async () => {
    const chat = await startChat()
    chat.hangOnClose()
    const { put, ended, close } = await startOutbox(chat)
    await ended(await put({}))
    await close()
  })
})

describe('the order of deliveries', () => {
  it('is kept for each recipient, even after failures, without delaying others', async () => {
    const chat = await startChat()
    const transient = { answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } }
    const { put, ended } = await startOutbox(chat)
    chat.script(transient, 'lose')
    const ids = []
    for (const text of ['1', '2', '3', '4', '5'])
      ids.push(
        await put({ text }),
        await put({ text, to: 'bob' }),
        await put({ text, channel: 'chat-reconcile', to: 'cat' }),
      )
    for (const id of ids) await ended(id)
    for (const to of ['ann', 'bob', 'cat']) expect(texts(chat, to)).toEqual(['1', '2', '3', '4', '5'])
  })

  it('delays later deliveries to the same recipient, and no others', async () => {
    const chat = await startChat()
    chat.script({ answer: { outcome: 'failed', reason: 'rate', detail: 'slow down', retryAfterMs: 3_600_000 } })
    const { put, ended, deliveryOf } = await startOutbox(chat)
    await put({ text: 'one' })
    await chat.attempted(1)
    const second = await put({ text: 'two' })
    await ended(await put({ text: 'other', to: 'bob' }))
    expect(await deliveryOf(second)).toMatchObject({ status: 'pending', attempt: 0 })
  })

  it('does not make other recipients wait for a slow one', async () => {
    const chat = await startChat()
    chat.script('hang')
    const { put, ended } = await startOutbox(chat, { limits: { sendMs: 3_000 } })
    await put({ text: 'slow', channel: 'chat-none' })
    await chat.attempted(1)
    const transient = { answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } }
    chat.script(transient, transient)
    await ended(await put({ text: 'quick', to: 'bob' }))
    expect(texts(chat, 'bob')).toEqual(['quick'])
  })
})

describe('a delivery of several chunks', () => {
  const paragraph = 'Twelve words make one line of text that is a little long.'

  it('arrives complete, in order, and with a key for each chunk', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    const text = Array.from({ length: 5 }, (_, index) => `${index} ${paragraph}`).join('\n\n')
    const id = await put({ text })
    await ended(id)
    expect(texts(chat).join('\n\n')).toBe(text)
    expect(chat.held.map(({ key }) => key)).toEqual([0, 1, 2, 3, 4].map((index) => `${id}:${index}`))
    expect(chat.held.every(({ text }) => text.length <= 80)).toBe(true)
  })

  it('is rendered in the format of the channel, and split by its unit', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    await ended(await put({ channel: 'chat-none', text: `**a < b**\n\n${'漢'.repeat(20)} ${'字'.repeat(20)}` }))
    expect(texts(chat)).toEqual([`<b>a &lt; b</b>\n\n${'漢'.repeat(20)}`, '字'.repeat(20)])
  })

  it('continues where it stopped after a failure', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    const taken = { answer: { outcome: 'sent', id: 'x' } }
    chat.script(taken, { answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } })
    const id = await put({ text: `${paragraph}\n\n${paragraph}\n\n${paragraph}` })
    expect(await ended(id)).toMatchObject({ status: 'sent', attempt: 2 })
    expect(chat.attempts.map(({ key }) => key.slice(id.length))).toEqual([':0', ':1', ':1', ':2'])
  })
})

describe('after a crash', () => {
  /** Crashes after the platform has accepted the message and before that is recorded. */
  async function crash(chat: Chat, message: Partial<NewDelivery>): Promise<{ rig: Rig; id: string }> {
    const dir = temporaryFolder()
    const before = await startOutbox(chat, { dir, limits: { sendMs: 60_000 } })
    const id = await before.put(message)
    await chat.attempted(1)
    await before.die()
    return { rig: await startOutbox(chat, { dir }), id }
  }

  it.each(['chat-native', 'chat-reconcile'])('between send and record, %s has the message once', async (channel) => {
    const chat = await startChat()
    chat.script('hang')
    const { rig, id } = await crash(chat, { channel })
    expect(await rig.ended(id)).toMatchObject({ status: 'sent' })
    expect(texts(chat)).toEqual(['Hi.'])
  })

  it('between send and record, a delivery ends as unknown if the platform cannot look it up', async () => {
    const chat = await startChat()
    chat.script('hang')
    const { rig, id } = await crash(chat, { channel: 'chat-none' })
    expect(await rig.ended(id)).toMatchObject({
      status: 'unknown',
      reason: expect.stringContaining('stopped while sending'),
    })
    expect(texts(chat)).toEqual(['Hi.'])
  })

  it('in the middle of several chunks, each arrives once', async () => {
    const chat = await startChat()
    const text = ['one', 'two', 'three'].map((word) => word.padEnd(70, '.')).join('\n\n')
    const dir = temporaryFolder()
    const before = await startOutbox(chat, { dir, limits: { sendMs: 60_000 } })
    chat.script({ answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } })
    const first = await before.put({ channel: 'chat-reconcile', text: 'zero' })
    await before.ended(first)
    chat.held.length = 0
    const attempts = chat.attempts.length
    const id = await before.put({ channel: 'chat-reconcile', text })
    await chat.attempted(attempts + 1)
    chat.script('hang')
    await chat.holds(2)
    await before.die()
    const rig = await startOutbox(chat, { dir })
    expect(await rig.ended(id)).toMatchObject({ status: 'sent' })
    expect(texts(chat).join('\n\n')).toBe(text)
  })
})
