// What every channel must do: messages arrive complete and once, whatever is lost on the way.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { findFault } from '../../core/loader/verify.ts'
import type { Channel, ChannelContext, Connection, InboundMessage } from '../../core/plugin.ts'
import { compileCheck } from '../../core/typebox.ts'
import { createTestContext } from './context.ts'

/** A double of the platform, new for each test. */
export interface Platform<Config> {
  /** Settings that connect the channel to this double. */
  config: Config
  /** A recipient that exists. */
  to: string
  /** Every message that the platform accepted, oldest first. */
  messages(): Promise<readonly { to: string; text: string }[]>
  /** Called with each connection, for platforms that send requests to `Connection.handle`. */
  attach?(connection: Connection): void
  /** Somebody writes a message. Leave it out if the channel only sends. */
  say?(text: string): Promise<void>
  /** The platform accepts the next message, but its response is lost. */
  loseNextAnswer?(): void
  /** The platform refuses the next message and asks to wait. */
  limitNext?(retryAfterMs: number): void
  close(): Promise<void>
}

/** @param openPlatform called before each test; `close` of its result is called afterwards */
export function channelContract<Config>(channel: Channel<Config>, openPlatform: () => Promise<Platform<Config>>): void {
  describe(`channel ${channel.name}`, () => {
    let platform: Platform<Config>
    let connection: Connection
    let received: ReturnType<typeof createInbox>

    beforeEach(async () => {
      platform = await openPlatform()
      received = createInbox()
      const context: ChannelContext = {
        ...createTestContext(),
        accountId: 'default',
        receive: received.receive,
        lost: () => undefined,
      }
      connection = await channel.connect(platform.config, context)
      platform.attach?.(connection)
    })
    afterEach(async () => {
      await connection.close()
      await platform.close()
    })

    const send = (key: string, text: string) => connection.send({ key, to: platform.to, text })
    const texts = async () => (await platform.messages()).map(({ text }) => text)

    it('is declared without fault', () => {
      expect(findFault(channel, { compile: true })).toBeUndefined()
    })

    it('has a target schema that accepts recipients and refuses blank ones', () => {
      const target = compileCheck(channel.target)
      expect(target.fits(platform.to)).toBe(true)
      expect(target.fits('')).toBe(false)
      expect(target.fits(' ')).toBe(false)
    })

    it('delivers messages complete and in order', async () => {
      const sent = ['one', 'Zwei: äöü 漢字 👩‍🚀 "quoted" <b>&amp;</b> \\ $&', 'a\nsecond line']
      for (const [index, text] of sent.entries())
        expect(await send(`k:${index}`, text)).toMatchObject({ outcome: 'sent' })
      expect(await texts()).toEqual(sent)
      expect((await platform.messages()).every(({ to }) => to === platform.to)).toBe(true)
    })

    it('delivers a message of limits.maxText', async () => {
      const text = 'x'.repeat(channel.limits.maxText)
      expect(await send('long', text)).toMatchObject({ outcome: 'sent' })
      expect(await texts()).toEqual([text])
    })

    if (channel.limits.idempotency === 'reconcile') {
      it('reconciles messages by key', async () => {
        await send('k:1', 'hello')
        expect(await connection.reconcile?.('k:1', platform.to)).toBe('sent')
        expect(await connection.reconcile?.('k:2', platform.to)).toBe('absent')
      })
    }

    if (channel.limits.idempotency === 'native') {
      it('delivers one message per key', async () => {
        await send('k:1', 'hello')
        await send('k:1', 'hello')
        expect(await texts()).toEqual(['hello'])
      })
    }

    it('returns unknown when the response is lost', async () => {
      if (!platform.loseNextAnswer) return
      platform.loseNextAnswer()
      expect(await send('k:1', 'hello')).toMatchObject({ outcome: 'unknown' })
      expect(await texts()).toEqual(['hello'])
    })

    it('returns the wait time of a rate limit and does not retry', async () => {
      if (!platform.limitNext) return
      platform.limitNext(1500)
      expect(await send('k:1', 'hello')).toMatchObject({ outcome: 'failed', reason: 'rate', retryAfterMs: 1500 })
      expect(await texts()).toEqual([])
    })

    it('receives messages and sends replies', async () => {
      if (!platform.say) return
      await platform.say('first')
      await platform.say('second')
      const [first, second] = [await received.next(), await received.next()]
      expect([first.text, second.text]).toEqual(['first', 'second'])
      expect(first.id).not.toBe(second.id)
      expect(first.from.id).not.toBe('')
      expect(await connection.send({ key: 'answer', to: first.to, text: 'hello' })).toMatchObject({ outcome: 'sent' })
    })
  })
}

/** The received messages, which can be awaited one by one. */
function createInbox() {
  const messages: InboundMessage[] = []
  const waiting: ((message: InboundMessage) => void)[] = []
  return {
    async receive(message: InboundMessage) {
      const reader = waiting.shift()
      if (reader) reader(message)
      else messages.push(message)
      return 'accepted' as const
    },
    next: () =>
      new Promise<InboundMessage>((resolve) => {
        const message = messages.shift()
        if (message) resolve(message)
        else waiting.push(resolve)
      }),
  }
}
