// The messages between gateways on one PostgreSQL database.
import { afterAll, beforeAll, expect, inject, it, onTestFinished } from 'vitest'
import { openStore } from '../../../core/store/open.ts'
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

it('arrive in their order, also when there are many at once', async () => {
  const [one, other] = [await open(), await open()]
  const received: unknown[] = []
  let isListening = false
  other.subscribe('catch-up', () => (isListening = true))
  other.subscribe('numbers', (item) => received.push((item as [number])[0]))
  await expect.poll(() => isListening).toBe(true)
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  // Together they need several payloads.
  for (const n of numbers) one.publish('numbers', [n, 'x'.repeat(1_000)])
  await expect.poll(() => received).toEqual(numbers)
  await expectNoWarnings()
})
