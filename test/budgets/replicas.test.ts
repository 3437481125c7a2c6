// Budgets of two gateways that share a PostgreSQL database: waiting runs are released in order, and alerts are sent once.
import { expect, inject, it, onTestFinished } from 'vitest'
import { createDatabase, query } from '../postgres.ts'
import { callUsd, mapping, type PricedGateway, quiet, startPriced } from './gateway.ts'

const alerts = { channel: 'chat-native', to: 'boss' }
const timeoutMs = 120_000
const patience = { timeout: 60_000 }

/** The webhooks `wait` may start so many runs, and the webhooks `paid` may cost so much. */
const document = (url: string, runs: number) => ({
  storage: { url },
  alerts,
  hooks: {
    mappings: [
      mapping('wait', { budget: [{ per: '366d', runs, onLimit: 'wait' }] }),
      mapping('many', { budget: [{ per: '366d', runs: 10 }] }),
      mapping('paid', { budget: [{ per: '366d', usd: 2.5 * callUsd }] }),
    ],
  },
})

async function startTwo() {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  const first = await startPriced(document(database.url, 1))
  const second = await startPriced(document(database.url, 1), { beside: first })
  return { database, first, second, gateways: [first, second] as const }
}

it(
  'waiting runs are released in their order, and no more than the budget allows',
  async () => {
    const { database, first, gateways } = await startTwo()
    const { model } = first
    model.otherwise({ text: 'Done.', ...quiet })
    const ids: string[] = []
    for (let n = 0; n < 8; n++) {
      const { post, budgets } = gateways[n % 2] as PricedGateway
      // The gateway has read what the other one has accepted.
      await budgets()
      const { status, body } = await post('/hooks/wait', { n })
      expect(status).toBe(200)
      ids.push(body.runId)
    }
    const statuses = () => Promise.all(ids.map(async (id) => (await first.get(`/runs/${id}`)).body.status as string))
    for (const runs of [1, 3, 8]) {
      for (const gateway of gateways) await gateway.reload(document(database.url, runs))
      const expected = ids.map((_, index) => (index < runs ? 'succeeded' : 'queued'))
      await expect.poll(statuses, patience).toEqual(expected)
      // Both gateways have read the counts since, so no further run is on its way.
      for (const { budgets } of gateways)
        expect((await budgets())[0]).toMatchObject({ used: { runs }, left: { runs: 0 } })
      expect(await statuses()).toEqual(expected)
    }
    expect(model.requests).toHaveLength(8)
  },
  timeoutMs,
)

it(
  'a limit of runs is exact, although both gateways accept at the same time',
  async () => {
    const { first, gateways } = await startTwo()
    first.model.otherwise({ text: 'Done.', ...quiet })
    const post = (n: number) => (gateways[n % 2] as PricedGateway).post('/hooks/many', { n })
    const numbers = Array.from({ length: 40 }, (_, n) => n)
    const answers = await Promise.all(numbers.map(post))
    const countOf = (wanted: number) => answers.filter(({ status }) => status === wanted).length
    expect([countOf(200), countOf(429)]).toEqual([10, 30])
  },
  timeoutMs,
)

it(
  'an alert is sent once in a window, although both gateways see that it is due',
  async () => {
    const { database, first, second, gateways } = await startTwo()
    first.model.otherwise({ text: 'Done.' })
    for (const gateway of [first, second, first]) expect((await gateway.hook('paid')).body.status).toBe('succeeded')
    for (const { budgets, hook } of gateways) {
      // The gateway has read what the other one has spent.
      await budgets()
      expect((await hook('paid')).status).toBe(429)
    }
    for (const { logged, budgets } of gateways) {
      await budgets()
      const usedUp = () => logged.filter((line) => line.includes('hooks.mappings[2].budget[0] is used up: $0.21'))
      await expect.poll(usedUp, patience).not.toEqual([])
    }
    // Closing awaits the alerts that are under way.
    for (const { gateway } of gateways) await gateway.close()
    const alerted = await query(database.url, `SELECT text FROM outbox WHERE recipient = 'boss' ORDER BY seq`)
    expect(alerted.map(({ text }) => String(text).split('\n', 1)[0])).toEqual([
      expect.stringMatching(/^80 % of the budget/),
      expect.stringContaining('is used up: $0.21'),
    ])
  },
  timeoutMs,
)
