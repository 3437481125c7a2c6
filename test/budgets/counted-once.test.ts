// A budget of runs, beside a budget of tokens at which webhooks wait.
import { expect, it } from 'vitest'
import { mapping, type PricedGateway, startPriced } from './gateway.ts'

const configuration = (tokens: number, runs: number) => ({
  agents: { defaults: { maxConcurrent: 1 } },
  hooks: {
    budget: [
      { per: '30d', runs },
      { per: '1d', tokens, onLimit: 'wait' as const },
    ],
    mappings: [mapping('jobs')],
  },
})

/** While the first of five webhooks has its turn, the others are accepted. The first turn uses up the tokens. */
async function sendFive({ model, post, get }: PricedGateway): Promise<void> {
  model.otherwise({ text: 'Done.' })
  const sent = await Promise.all(Array.from({ length: 5 }, (_, n) => post('/hooks/jobs', { n })))
  expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  const waiting = async () =>
    (await get('/api/runs?status=queued')).body.items.filter((run: { waitingFor?: string }) => run.waitingFor).length
  await expect.poll(waiting, { timeout: 10_000 }).toBe(4)
}

const usedOf30Days = async ({ budgets }: PricedGateway) => (await budgets()).find(({ per }) => per === '30d')!['used']
const succeeded = async ({ get }: PricedGateway) => (await get('/api/runs?status=succeeded')).body.items.length

it('counts each webhook once, also if it was accepted before the other budget was used up and had to wait', async () => {
  const gateway = await startPriced(configuration(70, 60))
  await sendFive(gateway)
  expect(await usedOf30Days(gateway)).toMatchObject({ runs: 5 })
  // The operator allows more tokens.
  await gateway.reload(configuration(7000, 60))
  await expect.poll(() => succeeded(gateway), { timeout: 20_000 }).toBe(5)
  expect(await usedOf30Days(gateway)).toMatchObject({ runs: 5 })
})

it('lets the webhooks start that it has accepted, when the other budget opens', async () => {
  const gateway = await startPriced(configuration(70, 5))
  await sendFive(gateway)
  await gateway.reload(configuration(7000, 5))
  await expect.poll(() => succeeded(gateway), { timeout: 10_000 }).toBe(5)
}, 30_000)
