// A message that is quoted again is quoted in short.
import { expect, it } from 'vitest'
import { shortenRepeatedQuotes } from '../../core/kit/kit.ts'
import type { InboundMessage, QuotedMessage } from '../../core/plugin/plugin.ts'

const long = 'All is well. '.repeat(100).trim()

async function receiveAll(quotes: (QuotedMessage | undefined)[], results: ('accepted' | 'ignored')[] = []) {
  const received: (QuotedMessage | undefined)[] = []
  const receive = shortenRepeatedQuotes(async ({ quoted }) => {
    received.push(quoted)
    return results.shift() ?? 'accepted'
  })
  for (const [index, quoted] of quotes.entries()) {
    const message: InboundMessage = { id: String(index), from: { id: 'ann' }, to: 'room', text: 'hello', quoted }
    await receive(message)
  }
  return received
}

it('quotes a message whole once, and later its beginning without its files', async () => {
  const root = { id: 'root', isOwn: false, text: long, attachments: [{ name: 'a.txt', type: 'text/plain' }] }
  const [first, second, other] = await receiveAll([root, root, { id: 'other', text: long }])
  expect(first).toEqual(root)
  expect(second).toEqual({ id: 'root', isOwn: false, text: `${long.slice(0, 200)} …` })
  expect(other?.text).toBe(long)
})

it('quotes a message whole until the agent has read a message that quotes it', async () => {
  const root = { id: 'root', text: long }
  const received = await receiveAll([root, root, root], ['ignored', 'accepted'])
  expect(received.map((quoted) => quoted?.text?.length === long.length)).toEqual([true, true, false])
})

it('leaves quotes without an id and messages without a quote as they are', async () => {
  const quotes = [{ text: long }, { text: long }, undefined]
  expect(await receiveAll(quotes)).toEqual(quotes)
})

it('gives an id without a text once, and a text that becomes known later whole', async () => {
  const quotes = [{ id: 'a' }, { id: 'a' }, { id: 'a', text: long }, { id: 'a', text: 'short' }]
  expect(await receiveAll(quotes)).toEqual([quotes[0], undefined, quotes[2], quotes[3]])
})
