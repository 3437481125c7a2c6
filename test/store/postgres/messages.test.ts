// The messages between gateways on one PostgreSQL database.
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest'
import { openStore } from '../../../core/store/open.ts'
import { openConnection } from '../../../core/store/postgres/database.ts'
import type { Message } from '../../../core/store/postgres/message-batch.ts'
import { createPresence } from '../../../core/store/postgres/presence.ts'
import { createDatabase } from '../../postgres.ts'
import { expectNoWarnings } from '../../process-warnings.ts'
import { silent } from '../acknowledging.ts'

let database: Awaited<ReturnType<typeof createDatabase>>
beforeAll(async () => {
  database = await createDatabase(inject('postgresUrl'))
})
afterAll(() => database.remove())

async function open() {
  const { store, opened, replicas } = openStore({ url: database.url, dir: '/nowhere', log: silent })
  onTestFinished(store.close)
  await opened
  return replicas
}

/** At first, a gateway sends everything, because it does not know what the others want. */
async function openAndMeet() {
  const gateway = await open()
  await expect.poll(() => gateway.isWanted('nothing'), { timeout: 5_000 }).toBe(false)
  return gateway
}

it('arrive in their order, also when there are many at once', async () => {
  const [one, other] = [await openAndMeet(), await open()]
  const received: unknown[] = []
  other.subscribe('numbers', (item) => received.push((item as [number])[0]))
  await expect.poll(() => one.isWanted('numbers')).toBe(true)
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  // Together they need several payloads.
  for (const n of numbers) one.publish('numbers', [n, 'x'.repeat(1_000)])
  await expect.poll(() => received).toEqual(numbers)
  await expectNoWarnings()
})

it('are sent only while another gateway subscribes to their topic', async () => {
  const one = await openAndMeet()
  one.subscribe('numbers', () => undefined)
  const sent = await listen()
  const other = await open()
  other.subscribe('other', () => undefined)
  await expect.poll(() => one.isWanted('other')).toBe(true)
  one.publish('numbers', 1)
  one.publish('other', 2)
  const unsubscribe = other.subscribe('numbers', () => undefined)
  await expect.poll(() => one.isWanted('numbers')).toBe(true)
  one.publish('numbers', 3)
  unsubscribe()
  await expect.poll(() => one.isWanted('numbers')).toBe(false)
  one.publish('numbers', 4)
  one.publish('other', 5)
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
  other.subscribe('letters', (item) => received.push(item))
  await expect.poll(() => one.isWanted('letters')).toBe(true)
  for (const letter of ['a', 'b', 'a', 'c']) one.publish('letters', letter)
  await expect.poll(() => received).toEqual(['a', 'b', 'c'])
})

it('tell both gateways to catch up when they meet, because neither has sent anything to the other', async () => {
  const one = await open()
  const other = await open()
  const caughtUp = [one, other].map(async (gateway) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    gateway.subscribe('catch-up', () => resolve())
    await promise
  })
  await Promise.all(caughtUp)
})

it('are not sent to a gateway that has not reported its presence for long', () => {
  const presence = createPresence({ lifetimeMs: 0, introductionMs: 0 })
  expect(presence.isWanted('numbers')).toBe(true)
  presence.reset()
  expect(presence.record(1, ['numbers'])).toBe(false)
  expect(presence.isWanted('numbers')).toBe(false)
  expect(presence.record(1, ['numbers'])).toBe(false)
})

/** Returns the messages that any gateway has sent since then. */
async function listen(): Promise<() => Message[]> {
  const client = await openConnection(database.url)
  onTestFinished(() => client.end())
  const messages: Message[] = []
  client.on('notification', ({ payload = '' }) => messages.push(...(JSON.parse(payload) as Message[])))
  const { rows } = await client.query<{ id: string }>("SELECT 'migration'::regclass::oid AS id")
  await client.query(`LISTEN svc_gateway_${rows[0]?.id}`)
  return () => messages
}
