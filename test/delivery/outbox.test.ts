// The outbox: order for each recipient, retries without duplicates, and plugins that misbehave.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Chat, startChat } from '../doubles/chat.ts'
import { temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { type OutboxDeps, startOutbox } from './start-outbox.ts'

/** Each test has recipients of its own. */
const shared = share(async () => {
  const chat = await startChat()
  return { chat, ...(await startOutbox(chat)) }
})

const textsTo = (to: string, list: Chat['held']) => list.filter((message) => message.to === to).map(({ text }) => text)
const keysTo = (to: string, list: Chat['held']) => list.filter((message) => message.to === to).map(({ key }) => key)

const busy = { answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } }

describe('a message that cannot be sent', () => {
  it.each([
    ['ordered lists in one line', '1. '.repeat(3000)],
    ['quotes in lists in one line', '- > '.repeat(2000)],
    ['quotes', '> '.repeat(5000)],
    ['emphasis', '*_'.repeat(5000)],
  ])('does not block its recipient: %s', async (name, text) => {
    const { put, ended } = shared()
    const first = await put({ channel: 'chat-none', to: name, text: `${text}x` })
    const second = await put({ channel: 'chat-none', to: name, text: 'next' })
    expect([(await ended(first)).status, (await ended(second)).status]).toEqual(['sent', 'sent'])
  })

  /** Makes one part of the outbox throw, and returns what became of that message. The next one must be sent. */
  async function breakWith(breakDeps: (deps: OutboxDeps) => OutboxDeps) {
    const { put, ended, events } = await startOutbox(shared().chat, { breakDeps })
    const [first, second] = [await put({ text: `broken ${'x '.repeat(60)}` }), await put({ text: 'next' })]
    const { status, reason } = await ended(first)
    expect(await ended(second)).toMatchObject({ status: 'sent' })
    return { status, reason, told: events.map(({ text }) => text.split('\n')[0]) }
  }

  const fail = (): never => {
    throw new Error('broken')
  }
  const failed = 'The gateway failed while sending, so it is unknown whether the delivery arrived.'
  const prepared = 'The message could not be prepared for the channel.'

  it('fails if it cannot be prepared, and the main session is told', async () => {
    let attempts = 0
    const result = await breakWith((deps) => ({
      ...deps,
      connections: {
        ...deps.connections,
        get: (...account) => {
          const link = deps.connections.get(...account)
          if (!link || attempts++ > 0) return link
          return { ...link, channel: { ...link.channel, limits: new Proxy(link.channel.limits, { get: fail }) } }
        },
      },
    }))
    expect(result).toEqual({
      status: 'failed',
      reason: prepared,
      told: [`Hook: the message to ann on chat-native was not delivered: ${prepared}`],
    })
  })

  it.each([
    [
      'its connection cannot be looked up',
      (deps: OutboxDeps): OutboxDeps => ({
        ...deps,
        connections: { ...deps.connections, get: once(fail, deps.connections.get) },
      }),
    ],
    [
      'its progress cannot be stored',
      (deps: OutboxDeps): OutboxDeps => ({
        ...deps,
        store: { ...deps.store, advanceDelivery: once(fail, deps.store.advanceDelivery) },
      }),
    ],
  ])('ends as unknown if %s, and the main session is told', async (_name, breakDeps) => {
    expect(await breakWith(breakDeps)).toEqual({
      status: 'unknown',
      reason: failed,
      told: [`Hook: the message to ann on chat-native may not have arrived, and is not sent again: ${failed}`],
    })
  })

  it.each([
    ['the event about it cannot be made', (deps: OutboxDeps): OutboxDeps => ({ ...deps, createFailureEvent: fail })],
    [
      'its end cannot be stored at first',
      (deps: OutboxDeps): OutboxDeps => ({
        ...deps,
        store: { ...deps.store, endDelivery: once(fail, deps.store.endDelivery) },
      }),
    ],
  ])('ends even if %s', async (_name, breakDeps) => {
    const get = (deps: OutboxDeps) => once(fail, deps.connections.get)
    const result = await breakWith((deps) =>
      breakDeps({ ...deps, connections: { ...deps.connections, get: get(deps) } }),
    )
    expect(result).toMatchObject({ status: 'unknown', reason: failed })
  })
})

/** The first call does something else. */
function once<Args extends unknown[], Result>(first: () => Result, then: (...args: Args) => Result) {
  let calls = 0
  return (...args: Args): Result => (calls++ === 0 ? first() : then(...args))
}

describe('a delivery', () => {
  it('is sent with its key, thread and route, and stores the platform id', async () => {
    const { chat, put, ended } = shared()
    const id = await put({ to: 'reader', threadId: 't1', route: { service: 'eu' } })
    expect(await ended(id)).toMatchObject({ status: 'sent', platformId: `id of ${id}:0`, reason: null })
    expect(chat.held.filter(({ to }) => to === 'reader')).toEqual([
      {
        channel: 'chat-native',
        accountId: 'default',
        key: `${id}:0`,
        to: 'reader',
        text: 'Hi.',
        threadId: 't1',
        route: { service: 'eu' },
      },
    ])
  })

  it.each(['permanent', 'auth'])(
    'is not retried after a permanent failure (%s), and has the reason',
    async (reason) => {
      const { chat, put, ended } = shared()
      const to = `refused, ${reason}`
      chat.script({ answer: { outcome: 'failed', reason, detail: 'no such room' } })
      expect(await ended(await put({ to }))).toMatchObject({ status: 'failed', reason: 'no such room' })
      expect(await ended(await put({ to, text: 'next' }))).toMatchObject({ status: 'sent' })
      expect(textsTo(to, chat.attempts)).toEqual(['Hi.', 'next'])
    },
  )

  it('is retried under the same key after a passing failure', async () => {
    const { chat, put, ended } = shared()
    chat.script(busy, busy, busy)
    const id = await put({ to: 'busy' })
    expect(await ended(id)).toMatchObject({ status: 'sent', attempt: 4 })
    expect(keysTo('busy', chat.attempts)).toEqual(Array.from({ length: 4 }, () => `${id}:0`))
  })

  it('waits as long as the platform asks after a rate limit', async () => {
    const { chat, put, deliveryOf } = shared()
    chat.script({ answer: { outcome: 'failed', reason: 'rate', detail: 'slow down', retryAfterMs: 3_600_000 } })
    const before = Date.now()
    const id = await put({ to: 'limited' })
    await expect.poll(async () => (await deliveryOf(id)).reason).toBe('slow down')
    const { status, nextAt } = await deliveryOf(id)
    expect(status).toBe('pending')
    expect(nextAt).toBeGreaterThanOrEqual(before + 3_600_000)
    expect(nextAt).toBeLessThanOrEqual(Date.now() + 3_600_000)
  })

  it('waits until the time that the platform names, or longer if it also asks to wait', async () => {
    const { chat, put, deliveryOf } = shared()
    const resetAt = Date.now() + 1_800_000
    const limit = { outcome: 'failed', reason: 'rate', detail: 'slow down', resetAt }
    chat.script({ answer: limit }, { answer: { ...limit, retryAfterMs: 3_600_000 } })
    const ids = [await put({ to: 'until' }), await put({ to: 'until or longer' })]
    for (const id of ids) await expect.poll(async () => (await deliveryOf(id)).reason).toBe('slow down')
    const [until, longer] = await Promise.all(ids.map(async (id) => (await deliveryOf(id)).nextAt))
    expect(until).toBeGreaterThanOrEqual(resetAt)
    expect(until).toBeLessThan(resetAt + 60_000)
    expect(longer).toBeGreaterThanOrEqual(resetAt + 60_000)
  })

  it('is given up at last and stays as failed, with its reason', async () => {
    const { chat, put, ended } = shared()
    chat.script({
      answer: { outcome: 'failed', reason: 'rate', detail: 'come back next year', retryAfterMs: 31_536_000_000 },
    })
    expect(await ended(await put({ to: 'next year' }))).toMatchObject({
      status: 'failed',
      reason: 'come back next year',
    })
  })

  it('fails with a reason if its account is not configured for a while', async () => {
    const { put, ended } = await startOutbox(await startChat(), { limits: { giveUpMs: 100 } })
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
    const { chat, put, ended } = shared()
    chat.script('lose', 'drop')
    expect(await ended(await put({ channel: 'chat-native', to: 'lost' }))).toMatchObject({ status: 'sent' })
    expect(textsTo('lost', chat.attempts)).toHaveLength(3)
    expect(textsTo('lost', chat.held)).toEqual(['Hi.'])
  })

  it('is looked up if the platform allows it, and sent again only if it is absent', async () => {
    const { chat, put, ended } = shared()
    chat.script('lose', 'drop')
    const message = { channel: 'chat-reconcile', to: 'looked up' }
    expect(await ended(await put({ ...message, text: 'one' }))).toMatchObject({ status: 'sent', attempt: 1 })
    expect(await ended(await put({ ...message, text: 'two' }))).toMatchObject({ status: 'sent', attempt: 2 })
    expect(textsTo('looked up', chat.attempts)).toEqual(['one', 'two', 'two'])
    expect(textsTo('looked up', chat.held)).toEqual(['one', 'two'])
  })

  it('is looked up later, and not sent meanwhile, if the platform cannot be asked', async () => {
    const { chat, put, ended } = shared()
    chat.script('lose')
    chat.scriptReconcile('fail', 'hang', 'fail')
    expect(await ended(await put({ channel: 'chat-reconcile', to: 'later' }))).toMatchObject({ status: 'sent' })
    expect(textsTo('later', chat.attempts)).toHaveLength(1)
  })

  it('is looked up after a pause of its account, too', async () => {
    const [chat, limits] = [await startChat(), { firstBackoffMs: 10_000, longestBackoffMs: 60_000 }]
    const { put, ended, deliveryOf } = await startOutbox(chat, { limits })
    // Only the clocks are set; timers run on. A new delivery makes the outbox look at the clock.
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    chat.script('lose')
    chat.scriptReconcile('fail')
    const lost = await put({ channel: 'chat-reconcile', to: 'lost' })
    await expect.poll(async () => (await deliveryOf(lost)).uncertain).toBe(true)
    for (const to of ['one', 'another']) {
      chat.script({ answer: { outcome: 'failed', reason: 'rate', detail: 'slow down', retryAfterMs: 3_600_000 } })
      const limited = await put({ channel: 'chat-reconcile', to })
      await expect.poll(async () => (await deliveryOf(limited)).reason).toBe('slow down')
    }
    const due = await deliveryOf(lost)
    vi.advanceTimersByTime(due.nextAt - Date.now())
    await put({})
    await expect.poll(async () => (await deliveryOf(lost)).nextAt).toBeGreaterThan(due.nextAt)
    vi.advanceTimersByTime((await deliveryOf(lost)).nextAt - Date.now())
    await put({})
    expect(await ended(lost)).toMatchObject({ status: 'sent' })
    expect(textsTo('lost', chat.attempts)).toHaveLength(1)
  })

  it('is looked up after a stop that came between its claim and its attempt', async () => {
    const [chat, dir] = [await startChat(), temporaryFolder()]
    const [reached, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holdClaims = ({ store, ...deps }: OutboxDeps): OutboxDeps => ({
      ...deps,
      store: {
        ...store,
        claimDeliveries: async (claim) => {
          const claimed = await store.claimDeliveries(claim)
          if (!claimed.some(({ uncertain }) => uncertain)) return claimed
          reached.resolve()
          await held.promise
          return claimed
        },
      },
    })
    const before = await startOutbox(chat, { dir, breakDeps: holdClaims })
    chat.script('lose')
    chat.scriptReconcile('fail')
    const id = await before.put({ channel: 'chat-reconcile', to: 'stopped' })
    await reached.promise
    const closed = before.close(0)
    // The outbox stops when its time is over, which is a timer of 0 ms.
    setTimeout(held.resolve, 20)
    await closed
    const { ended } = await startOutbox(chat, { dir })
    expect(await ended(id)).toMatchObject({ status: 'sent' })
    expect(textsTo('stopped', chat.attempts)).toHaveLength(1)
  })

  it('is looked up with its text, its route and the time of the first attempt that may have arrived', async () => {
    const { chat, put, ended } = shared()
    chat.script({ answer: { outcome: 'failed', reason: 'transient', detail: 'busy' } }, 'drop')
    chat.scriptReconcile('fail', 'fail')
    const [before, from] = [Date.now(), chat.asked.length]
    const message = { to: 'asked for', threadId: 't1', text: '*Hi.*', route: { url: 'https://chat.example' } }
    const id = await put({ channel: 'chat-reconcile', ...message })
    expect(await ended(id)).toMatchObject({ status: 'sent', attempt: 4, attemptedAt: expect.any(Number) })
    const asked = chat.asked.slice(from)
    const { firstAttemptAt } = asked[0]!
    expect(firstAttemptAt).toBeGreaterThanOrEqual(before)
    const question = { ...message, key: `${id}:0`, firstAttemptAt }
    expect(asked).toMatchObject([question, question, question])
  })

  it('is looked up twice if it may still be in flight', async () => {
    const chat = await startChat()
    chat.script({ acceptAfterReconciles: 1 })
    const { put, ended } = await startOutbox(chat, { limits: { sendMs: 300 } })
    expect(await ended(await put({ channel: 'chat-reconcile' }))).toMatchObject({ status: 'sent' })
    expect(textsTo('ann', chat.held)).toEqual(['Hi.'])
    expect(chat.attempts).toHaveLength(1)
  })

  it('ends as unknown if the platform cannot look it up', async () => {
    const { chat, put, ended } = shared()
    chat.script('lose', 'lose')
    chat.scriptReconcile('unknown')
    for (const channel of ['chat-reconcile', 'chat-none']) {
      const outcome = await ended(await put({ channel, to: 'unknown' }))
      expect(outcome).toMatchObject({ status: 'unknown', reason: 'The answer was lost.' })
    }
    expect(textsTo('unknown', chat.attempts)).toHaveLength(2)
  })

  it('ends as unknown, not as failed, when it is given up', async () => {
    const chat = await startChat()
    chat.script(...Array.from({ length: 1000 }, () => 'lose' as const))
    const { put, ended } = await startOutbox(chat, { limits: { giveUpMs: 100 } })
    expect(await ended(await put({ channel: 'chat-native' }))).toMatchObject({ status: 'unknown' })
    expect(textsTo('ann', chat.held)).toEqual(['Hi.'])
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
  ])('and %s blocks neither its recipient nor the gateway', async (to, script) => {
    const { chat, put, ended } = shared()
    chat.script(script)
    const first = await put({ channel: 'chat-none', to, text: 'one' })
    const second = await put({ channel: 'chat-none', to, text: 'two' })
    expect(await ended(first)).toMatchObject({ status: 'unknown', reason: expect.stringMatching(/\.$/) })
    expect(await ended(second)).toMatchObject({ status: 'sent' })
  })

  it.each([[Number.NaN], [-5], ['soon'], [0]])('and asks to wait %s ms is retried soon', async (retryAfterMs) => {
    const { chat, put, ended } = shared()
    chat.script({ answer: { outcome: 'failed', reason: 'rate', detail: 'x', retryAfterMs } })
    expect(await ended(await put({ to: `waits ${retryAfterMs}` }))).toMatchObject({ status: 'sent', attempt: 2 })
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
    const { chat, put, ended } = shared()
    chat.script(busy, 'lose')
    const ids = []
    for (const text of ['1', '2', '3', '4', '5'])
      ids.push(
        await put({ text, to: 'amy' }),
        await put({ text, to: 'bob' }),
        await put({ text, channel: 'chat-reconcile', to: 'cat' }),
      )
    for (const id of ids) await ended(id)
    for (const to of ['amy', 'bob', 'cat']) expect(textsTo(to, chat.held)).toEqual(['1', '2', '3', '4', '5'])
  })

  it('delays later deliveries to the same recipient, and no others', async () => {
    const { chat, put, ended, deliveryOf } = shared()
    chat.script({ answer: { outcome: 'failed', reason: 'rate', detail: 'slow down', retryAfterMs: 3_600_000 } })
    const attempts = chat.attempts.length
    await put({ text: 'one', to: 'delayed' })
    await chat.attempted(attempts + 1)
    const second = await put({ text: 'two', to: 'delayed' })
    await ended(await put({ text: 'other', to: 'not delayed' }))
    expect(await deliveryOf(second)).toMatchObject({ status: 'pending', attempt: 0 })
  })

  it('does not make other recipients wait for a slow one', async () => {
    const chat = await startChat()
    chat.script('hang')
    const { put, ended } = await startOutbox(chat, { limits: { sendMs: 3_000 } })
    await put({ text: 'slow', channel: 'chat-none' })
    await chat.attempted(1)
    chat.script(busy, busy)
    await ended(await put({ text: 'quick', to: 'bob' }))
    expect(textsTo('bob', chat.held)).toEqual(['quick'])
  })
})

describe('a delivery with choices', () => {
  const choices = [
    { label: 'Yes', text: 'yes' },
    { label: 'No', text: 'no' },
  ]
  const choicesTo = (name: string, chat: Chat) =>
    chat.held.filter(({ to }) => to === name).map((message) => message.choices)

  it('shows them below its last chunk, if the channel can show so many', async () => {
    const { chat, put, ended } = shared()
    await ended(await put({ to: 'asked', text: `${'x'.repeat(70)}\n\n${'y'.repeat(70)}`, choices }))
    await ended(await put({ to: 'many', choices: [...choices, ...choices] }))
    await ended(await put({ channel: 'chat-none', to: 'plain', choices }))
    expect(choicesTo('asked', chat)).toEqual([undefined, choices])
    expect([choicesTo('many', chat), choicesTo('plain', chat)]).toEqual([[undefined], [undefined]])
  })

  it('loses them when the delivery is sent that says so', async () => {
    const { chat, put, ended } = shared()
    const asked = await put({ to: 'ends', threadId: 't', route: { r: 1 }, text: 'First. '.repeat(20), choices })
    await ended(asked)
    await ended(await put({ to: 'ends', text: 'Too late.', endsChoicesOf: asked }))
    const [first, last] = chat.held.filter(({ to }) => to === 'ends')
    expect(first!.text).not.toBe(last!.text)
    const question = chat.held.findLast((message) => message.to === 'ends' && message.choices)!
    await expect.poll(() => chat.cleared.filter(({ to }) => to === 'ends')).toHaveLength(1)
    const { text } = question
    expect(chat.cleared.find(({ to }) => to === 'ends')).toMatchObject({
      id: `id of ${asked}:1`,
      to: 'ends',
      threadId: 't',
      route: { r: 1 },
      text,
    })
  })

  it.each(['fails', 'hangs'])('holds up nothing if that %s', async (to) => {
    const { chat, put, ended, logged } = shared()
    const asked = await put({ to, choices })
    await ended(asked)
    expect(await ended(await put({ to, text: 'Too late.', endsChoicesOf: asked }))).toMatchObject({ status: 'sent' })
    expect(await ended(await put({ to, text: 'Next.' }))).toMatchObject({ status: 'sent' })
    await expect.poll(() => logged.join('\n')).toContain('the choices of a message could not be removed')
    expect(chat.cleared.filter((message) => message.to === to)).toHaveLength(1)
  })

  it('asks nothing of the channel for a message that has none, or is gone', async () => {
    const { chat, put, ended } = shared()
    const bare = await put({ to: 'bare' })
    await ended(bare)
    for (const endsChoicesOf of [bare, 'unknown']) await ended(await put({ to: 'bare', endsChoicesOf }))
    await ended(await put({ to: 'bare' }))
    expect(chat.cleared.filter(({ to }) => to === 'bare')).toEqual([])
  })
})

describe('a delivery of several chunks', () => {
  const paragraph = 'Twelve words make one line of text that is a little long.'

  it('arrives complete, in order, and with a key for each chunk', async () => {
    const { chat, put, ended } = shared()
    const text = Array.from({ length: 5 }, (_, index) => `${index} ${paragraph}`).join('\n\n')
    const id = await put({ to: 'five', text })
    await ended(id)
    expect(textsTo('five', chat.held).join('\n\n')).toBe(text)
    expect(keysTo('five', chat.held)).toEqual([0, 1, 2, 3, 4].map((index) => `${id}:${index}`))
    expect(textsTo('five', chat.held).every(({ length }) => length <= 80)).toBe(true)
  })

  it('is rendered in the format of the channel, and split by its unit', async () => {
    const { chat, put, ended } = shared()
    const text = `**a < b**\n\n${'漢'.repeat(20)} ${'字'.repeat(20)}`
    await ended(await put({ channel: 'chat-none', to: 'format', text }))
    expect(textsTo('format', chat.held)).toEqual([`<b>a &lt; b</b>\n\n${'漢'.repeat(20)}`, '字'.repeat(20)])
  })

  it('continues where it stopped after a failure', async () => {
    const { chat, put, ended } = shared()
    const taken = { answer: { outcome: 'sent', id: 'x' } }
    chat.script(taken, busy)
    const id = await put({ to: 'stopped', text: `${paragraph}\n\n${paragraph}\n\n${paragraph}` })
    expect(await ended(id)).toMatchObject({ status: 'sent', attempt: 2 })
    expect(keysTo('stopped', chat.attempts).map((key) => key.slice(id.length))).toEqual([':0', ':1', ':1', ':2'])
  })
})

describe('after a crash', () => {
  it('between send and record, the platform has the message once', async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    const before = await startOutbox(chat, { dir, limits: { sendMs: 60_000 } })
    chat.script('hang', 'hang', 'hang')
    const put = (channel: string) => before.put({ channel, to: channel })
    const [dropping, reconciling, neither] = [
      await put('chat-native'),
      await put('chat-reconcile'),
      await put('chat-none'),
    ]
    await chat.attempted(3)
    await before.die()
    const { ended } = await startOutbox(chat, { dir })
    expect(await ended(dropping)).toMatchObject({ status: 'sent' })
    expect(await ended(reconciling)).toMatchObject({ status: 'sent' })
    expect(await ended(neither)).toMatchObject({
      status: 'unknown',
      reason: expect.stringContaining('stopped while sending'),
    })
    for (const to of ['chat-native', 'chat-reconcile', 'chat-none']) expect(textsTo(to, chat.held)).toEqual(['Hi.'])
  })

  it('in the middle of several chunks, each arrives once', async () => {
    const chat = await startChat()
    const text = ['one', 'two', 'three'].map((word) => word.padEnd(70, '.')).join('\n\n')
    const dir = temporaryFolder()
    const before = await startOutbox(chat, { dir, limits: { sendMs: 60_000 } })
    chat.script(busy)
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
    expect(textsTo('ann', chat.held).join('\n\n')).toBe(text)
  })
})
