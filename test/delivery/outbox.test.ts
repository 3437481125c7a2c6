// The outbox: in order per recipient, again where that is safe, never twice, whatever the platform and its plugin do.
import { describe, expect, it } from 'vitest'
import type { NewDelivery } from '../../core/store/store.ts'
import { type Chat, startChat } from '../doubles/chat.ts'
import { temporaryFolder } from '../helpers.ts'
import { type Rig, startOutbox } from './start-outbox.ts'

const texts = (chat: Chat, to = 'ann') => chat.held.filter((message) => message.to === to).map(({ text }) => text)

describe('a message', () => {
  it('is sent with its key, thread and route, and remembers the id that the platform gave it', async () => {
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

  it.each(['permanent', 'auth'])('that failed for good (%s) is not repeated, and says why', async (reason) => {
    const chat = await startChat()
    chat.script({ answer: { outcome: 'failed', reason, detail: 'no such room' } })
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({}))).toMatchObject({ status: 'failed', reason: 'no such room' })
    expect(await ended(await put({ text: 'next' }))).toMatchObject({ status: 'sent' })
    expect(chat.attempts).toHaveLength(2)
  })

  it('that failed for now is repeated under the same key', async () => {
    const chat = await startChat()
    const transient = { answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } }
    chat.script(transient, transient, transient)
    const { put, ended } = await startOutbox(chat)
    const id = await put({})
    expect(await ended(id)).toMatchObject({ status: 'sent', attempt: 4 })
    expect(chat.attempts.map(({ key }) => key)).toEqual(Array.from({ length: 4 }, () => `${id}:0`))
  })

  it('that came too fast waits as long as the platform says', async () => {
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

  it('is given up at last: it stays, as failed, with its reason', async () => {
    const chat = await startChat()
    chat.script({
      answer: { outcome: 'failed', reason: 'rate', detail: 'come back next year', retryAfterMs: 31_536_000_000 },
    })
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({}))).toMatchObject({ status: 'failed', reason: 'come back next year' })
  })

  it('for an account that is not configured fails, with a reason', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({ accountId: 'other' }))).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('not configured'),
    })
  })

  it('waits for a channel whose first attempts to connect fail', async () => {
    const chat = await startChat()
    chat.refuse(3)
    const { put, ended, logged } = await startOutbox(chat)
    expect(await ended(await put({}))).toMatchObject({ status: 'sent' })
    expect(logged.filter((line) => line.includes('could not connect') && line.includes('answered 500'))).toHaveLength(3)
  })
})

describe('a message whose answer was lost', () => {
  it('goes out again where the platform drops doubles by our key', async () => {
    const chat = await startChat()
    chat.script('lose', 'drop')
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({ channel: 'chat-native' }))).toMatchObject({ status: 'sent' })
    expect(chat.attempts).toHaveLength(3)
    expect(texts(chat)).toEqual(['Hi.'])
  })

  it('is asked for where the platform can tell, and goes out again only if it is absent', async () => {
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

  it('is asked for again later when the platform cannot be asked now, and does not go out meanwhile', async () => {
    const chat = await startChat()
    chat.script('lose')
    chat.scriptReconcile('fail', 'hang', 'fail')
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({ channel: 'chat-reconcile' }))).toMatchObject({ status: 'sent' })
    expect(chat.attempts).toHaveLength(1)
  })

  it('is asked for twice when it may still be on its way, and does not overtake itself', async () => {
    const chat = await startChat()
    chat.script({ takenAfterQuestions: 1 })
    const { put, ended } = await startOutbox(chat, { limits: { sendMs: 300 } })
    expect(await ended(await put({ channel: 'chat-reconcile' }))).toMatchObject({ status: 'sent' })
    expect(texts(chat)).toEqual(['Hi.'])
    expect(chat.attempts).toHaveLength(1)
  })

  it('ends as unknown where the platform cannot tell', async () => {
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
  ])('and %s holds up neither its recipient nor the gateway', async (_case, script) => {
    const chat = await startChat()
    chat.script(script)
    const { put, ended } = await startOutbox(chat)
    const first = await put({ channel: 'chat-none', text: 'one' })
    const second = await put({ channel: 'chat-none', text: 'two' })
    expect(await ended(first)).toMatchObject({ status: 'unknown', reason: expect.stringMatching(/\.$/) })
    expect(await ended(second)).toMatchObject({ status: 'sent' })
  })

  it.each([[Number.NaN], [-5], ['soon'], [0]])('and wants to wait %s ms is asked again soon', async (retryAfterMs) => {
    const chat = await startChat()
    chat.script({ answer: { outcome: 'failed', reason: 'rate', detail: 'x', retryAfterMs } })
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({}))).toMatchObject({ status: 'sent', attempt: 2 })
  })

  it('and never ends does not hold up the stop', async () => {
    const chat = await startChat()
    chat.hangOnClose()
    const { put, ended, close } = await startOutbox(chat)
    await ended(await put({}))
    await close()
  })
})

describe('order', () => {
  it('is kept for one recipient, also over failures; others are not held up', async () => {
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

  it('holds back what comes after a message that waits, and nobody else', async () => {
    const chat = await startChat()
    chat.script({ answer: { outcome: 'failed', reason: 'rate', detail: 'slow down', retryAfterMs: 3_600_000 } })
    const { put, ended, deliveryOf } = await startOutbox(chat)
    await put({ text: 'one' })
    await chat.attempted(1)
    const second = await put({ text: 'two' })
    await ended(await put({ text: 'other', to: 'bob' }))
    expect(await deliveryOf(second)).toMatchObject({ status: 'pending', attempt: 0 })
  })

  it('is not lost over a long answer of one recipient: the others go on', async () => {
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

describe('a long message', () => {
  const paragraph = 'Twelve words make one line of text that is a little long.'

  it('arrives whole, in order, each chunk under a key of its own', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    const text = Array.from({ length: 5 }, (_, index) => `${index} ${paragraph}`).join('\n\n')
    const id = await put({ text })
    await ended(id)
    expect(texts(chat).join('\n\n')).toBe(text)
    expect(chat.held.map(({ key }) => key)).toEqual([0, 1, 2, 3, 4].map((index) => `${id}:${index}`))
    expect(chat.held.every(({ text }) => text.length <= 80)).toBe(true)
  })

  it('goes on where it stopped, after a failure in the middle', async () => {
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
  /** Dies after the platform took the message, before that is recorded. */
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

  it('between send and record, it is unknown where nobody can tell, and not repeated', async () => {
    const chat = await startChat()
    chat.script('hang')
    const { rig, id } = await crash(chat, { channel: 'chat-none' })
    expect(await rig.ended(id)).toMatchObject({
      status: 'unknown',
      reason: expect.stringContaining('stopped while sending'),
    })
    expect(texts(chat)).toEqual(['Hi.'])
  })

  it('in the middle of a long message, each chunk is there once', async () => {
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
