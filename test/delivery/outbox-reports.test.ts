// What the outbox reports: errors of channels in the log, accounts that wait, and events for deliveries that failed.
import { describe, expect, it } from 'vitest'
import { newRun } from '../contracts/store-samples.ts'
import { startChat } from '../doubles/chat.ts'
import { share } from '../share.ts'
import { startOutbox } from './start-outbox.ts'

/** Each test looks at its own deliveries. */
const shared = share(async () => {
  const chat = await startChat()
  return { chat, ...(await startOutbox(chat)) }
})

describe('the log', () => {
  const linesOf = (id: string, text: string) =>
    shared()
      .logged.map((line) => JSON.parse(line))
      .filter(({ deliveryId, message }) => deliveryId === id && message.includes(text))

  it('says what a channel threw, where, and why', async () => {
    const { chat, put, ended } = shared()
    chat.script('throw')
    const { id } = await ended(await put({ channel: 'chat-none' }))
    expect(linesOf(id, 'failed while sending')).toMatchObject([
      {
        channel: 'chat-none',
        accountId: 'default',
        reason: 'Error: the chat service answered 500',
        at: expect.stringMatching(/chat\.mjs:\d+/),
      },
    ])
  })

  it.each([
    [null, 'null'],
    [42, 'number'],
    [{ outcome: 'fine' }, 'outcome: "fine"'],
    [{ outcome: 'failed', reason: 'bad mood', detail: 'x' }, 'reason: "bad mood"'],
    [{ outcome: 'unknown' }, 'detail: undefined'],
    [{ outcome: 'failed', reason: 'rate', detail: 'x', retryAfterMs: 'soon' }, 'retryAfterMs: "soon"'],
    [
      { outcome: 'failed', reason: 'rate', detail: 'x', resetAt: 1_760_000_000 },
      'resetAt: "1760000000", not milliseconds',
    ],
  ])('says what send must return instead of %o', async (answer, returned) => {
    const { chat, put, ended } = shared()
    chat.script({ answer })
    const { id } = await ended(await put({ channel: 'chat-none' }))
    expect(linesOf(id, "send must return { outcome: 'sent'")).toMatchObject([
      { channel: 'chat-none', accountId: 'default', returned },
    ])
  })

  it('says why a message could not be looked up', async () => {
    const { chat, put, ended } = shared()
    chat.script('lose')
    chat.scriptReconcile('fail')
    const { id } = await ended(await put({ channel: 'chat-reconcile' }))
    expect(linesOf(id, 'could not look up')).toMatchObject([
      { channel: 'chat-reconcile', reason: expect.stringMatching(/^Error: /) },
    ])
  })
})

describe('a secret in what a channel says', () => {
  it.each([
    ['failed', { outcome: 'failed', reason: 'permanent', detail: 'The token swordfish-123 is not valid.' }],
    ['unknown', { outcome: 'unknown', detail: 'No answer for swordfish-123.' }],
  ])('is in no record, event or log of a delivery that is %s', async (status, answer) => {
    const { chat, put, ended, events, logged } = shared()
    chat.script({ answer })
    const { id, ...delivery } = await ended(await put({ channel: 'chat-none' }))
    expect(delivery).toMatchObject({ status, reason: answer.detail.replace('swordfish-123', '[redacted]') })
    expect(JSON.stringify([delivery, events, logged.filter((line) => line.includes(id))])).not.toContain('swordfish')
  })
})

describe('an account that its platform limits', () => {
  const limited = { answer: { outcome: 'failed', reason: 'rate', detail: 'slow down', retryAfterMs: 3_600_000 } }

  it('pauses after two recipients in a row, and does not delay other accounts', async () => {
    const chat = await startChat()
    chat.script(limited, limited)
    const { put, ended, deliveryOf, logged } = await startOutbox(chat, { limits: { longestBackoffMs: 60_000 } })
    const ids = [await put({ to: 'ann' }), await put({ to: 'bob' })]
    for (const id of ids) await expect.poll(async () => (await deliveryOf(id)).reason).toBe('slow down')
    const third = await put({ to: 'cat' })
    await expect.poll(async () => (await deliveryOf(third)).reason).toBe('The platform limits the account.')
    expect((await deliveryOf(third)).nextAt).toBeLessThanOrEqual(Date.now() + 60_000)
    await ended(await put({ to: 'dan', channel: 'chat-reconcile' }))
    expect(chat.attempts).toHaveLength(3)
    expect(logged.filter((line) => line.includes('the platform limits the account'))).toHaveLength(1)
  })

  it('sends on after the pause', async () => {
    const chat = await startChat()
    chat.script(limited, limited)
    const { put, ended, deliveryOf } = await startOutbox(chat)
    const ids = [await put({ to: 'ann' }), await put({ to: 'bob' })]
    for (const id of ids) await expect.poll(async () => (await deliveryOf(id)).reason).toBe('slow down')
    expect(await ended(await put({ to: 'cat' }))).toMatchObject({ status: 'sent' })
  })

  it('is not paused if one recipient is limited again and again', async () => {
    const chat = await startChat()
    const short = { answer: { ...limited.answer, retryAfterMs: 5 } }
    chat.script(short, short)
    const { put, ended, logged } = await startOutbox(chat)
    await ended(await put({}))
    expect(logged.filter((line) => line.includes('limits the account'))).toEqual([])
  })
})

const ofChannel = {
  kind: 'channel',
  spec: { ...newRun().spec, origin: { kind: 'channel', name: 'chat-none', trusted: true } },
} as const

describe('a delivery that has finally failed', () => {
  /** The events about messages to this recipient. */
  const eventsAbout = async (to: string) =>
    (await shared().store.listWaitingEvents('agent:main:main', { count: 100, characters: 100_000 })).filter(
      ({ text }) => text.includes(`message to ${to} on`),
    )

  it.each([
    [
      'failed',
      { outcome: 'failed', reason: 'permanent', detail: 'no such room' },
      'The message to failed on chat-none was not delivered: no such room\nIt began:\nHi.',
    ],
    [
      'unknown',
      { outcome: 'unknown', detail: 'No answer.' },
      'The message to unknown on chat-none may not have arrived, and is not sent again: No answer.\nIt began:\nHi.',
    ],
  ])('with the status %s is an event in the main session, once', async (status, answer, text) => {
    const { chat, put, ended, events } = shared()
    chat.script({ answer })
    expect(await ended(await put({ channel: 'chat-none', to: status }, ofChannel))).toMatchObject({ status })
    const stored = await eventsAbout(status)
    expect(stored).toMatchObject([{ text, mode: 'next-heartbeat', trusted: true }])
    await expect.poll(() => events.filter((event) => event.text === text)).toMatchObject([{ id: stored[0]!.id }])
  })

  it('of a webhook wakes the main agent if the webhook does, and is external content', async () => {
    const { chat, put, ended } = shared()
    chat.script({ answer: { outcome: 'failed', reason: 'permanent', detail: 'no such room' } })
    await ended(await put({ to: 'hook' }))
    expect(await eventsAbout('hook')).toMatchObject([
      { text: expect.stringMatching(/^Hook: the message to hook on chat-native was not/), mode: 'now', trusted: false },
    ])
  })

  it('repeats no text of a message that belongs to no run', async () => {
    const { chat, put, ended } = shared()
    chat.script({ answer: { outcome: 'failed', reason: 'permanent', detail: 'no such room' } })
    await ended(await put({ runId: '', to: 'nobody', text: 'Your code is 1234.' }))
    expect(await eventsAbout('nobody')).toMatchObject([
      { text: 'The message to nobody on chat-native was not delivered: no such room', trusted: false },
    ])
  })

  it('is no event while it is retried', async () => {
    const { chat, put, ended, store } = shared()
    chat.script({ answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } })
    const before = await store.countWaitingEvents('agent:main:main')
    await ended(await put({ to: 'retried' }))
    expect(await store.countWaitingEvents('agent:main:main')).toBe(before)
  })
})
