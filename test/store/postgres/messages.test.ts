// The messages between gateways on one PostgreSQL database.
import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import type { Log } from '../../../core/plugin/plugin.ts'
import { openStore } from '../../../core/store/open.ts'
import { openConnection } from '../../../core/store/postgres/database.ts'
import { createMessageSeal, type Message } from '../../../core/store/postgres/message-seal.ts'
import { createPresence } from '../../../core/store/postgres/presence.ts'
import { catchUp } from '../../../core/store/replicas.ts'
import { Type } from '../../../core/typebox.ts'
import { channelOf, createDatabase, createStranger, query } from '../../postgres.ts'
import { expectNoWarnings } from '../../process-warnings.ts'
import { silent } from '../acknowledging.ts'

let database: Awaited<ReturnType<typeof createDatabase>>
beforeAll(async () => {
  database = await createDatabase(inject('postgresUrl'))
})
afterAll(() => database.remove())

const topicOf = (name: string) => ({ name, item: Type.Unknown() })
const numbersTopic = topicOf('numbers')
const otherTopic = topicOf('other')

async function open(log: Log = silent) {
  const { store, opened, replicas } = openStore({ url: database.url, dir: '/nowhere', log })
  onTestFinished(store.close)
  await opened
  return replicas
}

/** At first, a gateway sends everything, because it does not know what the others want. */
async function openAndMeet() {
  const gateway = await open()
  await expect.poll(() => gateway.isWanted(topicOf('nothing')), { timeout: 5_000 }).toBe(false)
  return gateway
}

it('arrive in their order, also when there are many at once', async () => {
  const [one, other] = [await openAndMeet(), await open()]
  const received: unknown[] = []
  other.subscribe(numbersTopic, (item) => received.push((item as [number])[0]))
  await expect.poll(() => one.isWanted(numbersTopic)).toBe(true)
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  // Together they need several payloads.
  for (const n of numbers) one.publish(numbersTopic, [n, 'x'.repeat(1_000)])
  await expect.poll(() => received).toEqual(numbers)
  await expectNoWarnings()
})

it('are sent only while another gateway subscribes to their topic', async () => {
  const one = await openAndMeet()
  one.subscribe(numbersTopic, () => undefined)
  const sent = await listenAsGateway()
  const other = await open()
  other.subscribe(otherTopic, () => undefined)
  await expect.poll(() => one.isWanted(otherTopic)).toBe(true)
  one.publish(numbersTopic, 1)
  one.publish(otherTopic, 2)
  const unsubscribe = other.subscribe(numbersTopic, () => undefined)
  await expect.poll(() => one.isWanted(numbersTopic)).toBe(true)
  one.publish(numbersTopic, 3)
  unsubscribe()
  await expect.poll(() => one.isWanted(numbersTopic)).toBe(false)
  one.publish(numbersTopic, 4)
  one.publish(otherTopic, 5)
  await expect.poll(() => sent().at(-1)).toEqual({ topic: 'other', item: 5 })
  expect(sent().filter(({ topic }) => topic !== 'presence')).toEqual([
    { topic: 'other', item: 2 },
    { topic: 'numbers', item: 3 },
    { topic: 'other', item: 5 },
  ])
})

it('are sent once if they say the same', async () => {
  const [one, other] = [await openAndMeet(), await open()]
  const received: unknown[] = []
  const letters = topicOf('letters')
  other.subscribe(letters, (item) => received.push(item))
  await expect.poll(() => one.isWanted(letters)).toBe(true)
  for (const letter of ['a', 'b', 'a', 'c']) one.publish(letters, letter)
  await expect.poll(() => received).toEqual(['a', 'b', 'c'])
})

it('tell both gateways to catch up when they meet, because neither has sent anything to the other', async () => {
  const one = await open()
  const other = await open()
  const caughtUp = [one, other].map(async (gateway) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    gateway.subscribe(catchUp, () => resolve())
    await promise
  })
  await expect(Promise.all(caughtUp)).resolves.toHaveLength(2)
})

it('are not sent to a gateway that has not reported its presence for long', () => {
  const presence = createPresence({ lifetimeMs: 0, introductionMs: 0 })
  expect(presence.isWanted('numbers')).toBe(true)
  presence.reset()
  expect(presence.record('one', { topics: ['numbers'] })).toBe(false)
  expect(presence.isWanted('numbers')).toBe(false)
  expect(presence.record('one', { topics: ['numbers'] })).toBe(false)
})

it('say whether configurations differ without telling anything else about them', async () => {
  const [one, other] = [await openAndMeet(), await open()]
  const sent = await listenAsGateway()
  one.announce({ name: 'one:1', config: 'password 1' })
  other.announce({ name: 'other:1', config: 'password 1' })
  await expect.poll(one.others).toEqual([{ name: 'other:1', hasSameConfig: true }])
  other.announce({ name: 'other:1', config: 'password 2' })
  await expect.poll(one.others).toEqual([{ name: 'other:1', hasSameConfig: false }])
  const texts = JSON.stringify(sent())
  expect(texts).toContain('other:1')
  expect(texts).not.toContain('password')
  for (const encoding of ['hex', 'base64url'] as const)
    expect(texts).not.toContain(hash('sha256', 'password 1', encoding))
})

it('reach no subscriber if they do not fit their topic, or if a subscriber throws', async () => {
  const { log, lines } = collect()
  const [one, other] = [await openAndMeet(), await open(log)]
  const received: unknown[] = []
  other.subscribe({ name: 'numbers', item: Type.Integer() }, (item) => {
    if (item === 3) throw new TypeError('the secret number is 3')
    received.push(item)
  })
  await expect.poll(() => one.isWanted(numbersTopic)).toBe(true)
  for (const item of [1, null, 'two', 3, {}, 4]) one.publish(numbersTopic, item)
  await expect.poll(() => received).toEqual([1, 4])
  expect(lines).toEqual([
    expect.stringContaining('A message does not fit the topic \\"numbers\\".'),
    expect.stringContaining('TypeError'),
  ])
  expect(lines.join()).not.toContain('secret number')
})

describe('to and from a role that may only connect to the database', () => {
  let stranger: Awaited<ReturnType<typeof createStranger>>
  beforeAll(async () => {
    stranger = await createStranger(database.url)
  })
  afterAll(() => stranger.remove())

  const notify = async (payload: string) =>
    await query(stranger.url, 'SELECT pg_notify($1, $2)', [await channelOf(database.url), payload])

  it('are ignored and logged once, whatever they hold', async () => {
    const { log, lines } = collect()
    const [one, other] = [await openAndMeet(), await open(log)]
    const received: unknown[] = []
    other.subscribe(numbersTopic, (item) => received.push(item))
    await expect.poll(() => one.isWanted(numbersTopic)).toBe(true)
    const forged = [{ topic: 'numbers', item: 'forged' }]
    const content = JSON.stringify({ sender: 'x', sentAt: Date.now() + 60_000, messages: forged })
    const channel = await channelOf(database.url)
    const sealed = createMessageSeal({ secret: '', channel, now: Date.now }).seal(JSON.stringify(forged))
    const texts = ['', 'null', '{}', '[null]', '"', 'x'.repeat(7_999), '\u{1F600}', JSON.stringify(forged), content]
    for (const text of [...texts, sealed, Buffer.from(content).toString('base64')]) await notify(text)
    one.publish(numbersTopic, 'genuine')
    await expect.poll(() => received).toEqual(['genuine'])
    expect(lines).toEqual([expect.stringContaining('The sender is not a gateway on this store.')])
  })

  it('cannot be sent again, neither to those that have received them nor to a gateway that starts later', async () => {
    const { log, lines } = collect()
    const one = await openAndMeet()
    const payloads = await listen(stranger.url)
    const other = await open(log)
    const received: unknown[] = []
    other.subscribe(numbersTopic, (item) => received.push(item))
    await expect.poll(() => one.isWanted(numbersTopic)).toBe(true)
    one.publish(numbersTopic, 1)
    await expect.poll(() => received).toEqual([1])
    for (const payload of payloads()) await notify(payload)
    one.publish(numbersTopic, 2)
    await expect.poll(() => received).toEqual([1, 2])
    expect(lines).toEqual([expect.stringContaining('The message was sent before.')])

    let now = 1_000_000
    const options = { secret: 'x', channel: 'y', now: () => now }
    const sender = createMessageSeal(options)
    const old = sender.seal('[]')
    now += 10_000
    const later = createMessageSeal(options)
    expect(() => later.open(old)).toThrow('The message was sent before.')
    expect(later.open(sender.seal('[]')).messages).toEqual([])
  })

  it('cannot be read, and neither can the secret', async () => {
    const one = await openAndMeet()
    const payloads = await listen(stranger.url)
    const other = await open()
    other.subscribe(numbersTopic, () => undefined)
    await expect.poll(() => one.isWanted(numbersTopic)).toBe(true)
    const count = payloads().length
    one.publish(numbersTopic, 'The disk is full.')
    await expect.poll(() => payloads().length).toBeGreaterThan(count)
    const decoded = payloads().map((payload) => Buffer.from(payload, 'base64').toString('latin1'))
    for (const text of [...payloads(), ...decoded]) expect(text).not.toMatch(/disk|numbers|presence/)
    await expect(query(stranger.url, 'SELECT * FROM state')).rejects.toThrow('permission denied')
  })
})

/** Returns the payloads that were sent since then. */
async function listen(url: string): Promise<() => string[]> {
  const client = await openConnection(url)
  onTestFinished(() => client.end())
  const payloads: string[] = []
  client.on('notification', ({ payload = '' }) => payloads.push(payload))
  await client.query(`LISTEN ${await channelOf(database.url)}`)
  return () => [...payloads]
}

/** Returns the messages that any gateway has sent since then. */
async function listenAsGateway(): Promise<() => Message[]> {
  const payloads = await listen(database.url)
  const [row] = await query(database.url, "SELECT value FROM state WHERE owner = '' AND key = 'secret'")
  const options = { secret: JSON.parse(String(row?.['value'])) as string, channel: await channelOf(database.url) }
  return () => {
    const seal = createMessageSeal({ ...options, now: Date.now })
    return payloads().flatMap((payload) => seal.open(payload).messages)
  }
}

function collect(): { log: Log; lines: string[] } {
  const lines: string[] = []
  const add = (fields: object, message: string): void => {
    // The server of the tests has fsync turned off, which is logged, too.
    if (!('settings' in fields)) lines.push(JSON.stringify({ ...fields, message }))
  }
  return { log: { ...silent, warn: add, error: add }, lines }
}
