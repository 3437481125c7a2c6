// Tests how usage is added up by periods of a time zone and by keys, on rows as the store has them.
import { describe, expect, it } from 'vitest'
import { createLabels, reportUsage, type UsageQuery } from '../../core/control/usage-report.ts'
import type { SessionUsageRow, UsageRow } from '../../core/store/store.ts'

const at = (time: string): number => Date.parse(time)

const sums = {
  steps: 1,
  unpricedSteps: 0,
  inputTokens: 10,
  outputTokens: 1,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  costNanoUsd: 5,
}

const usageAt = (time: string): UsageRow => ({
  ...sums,
  at: at(time),
  agentId: 'main',
  kind: 'hook',
  name: 'a',
  model: 'm',
})

type Range<Item> = { from: number; until: number; after?: Item | undefined; limit: number }

/** Rows in their order, in parts as the store returns them. */
function storeOf(rows: UsageRow[], sessions: SessionUsageRow[] = []) {
  const list =
    <Item extends { at: number }>(all: Item[]) =>
    async ({ from, until, after, limit }: Range<Item>): Promise<Item[]> => {
      const start = after ? all.indexOf(after) + 1 : 0
      return all
        .slice(start)
        .filter((row) => row.at >= from && row.at < until)
        .slice(0, limit)
    }
  return { listUsage: list(rows), listSessionUsage: list(sessions) }
}

const isIncluded = () => true
const always: UsageQuery = { from: { at: 0 }, until: { at: at('2100-01-01T00:00Z') }, timezone: 'UTC', isIncluded }

describe('the name of a period', () => {
  it.each([
    ['hour', 'Europe/Berlin', '2026-10-25T00:45Z', '2026-10-25T02:00+02:00'],
    ['hour', 'Europe/Berlin', '2026-10-25T01:00Z', '2026-10-25T02:00+01:00'],
    ['hour', 'UTC', '2026-10-25T00:45Z', '2026-10-25T00:00+00:00'],
    ['day', 'Europe/Berlin', '2026-03-28T22:45Z', '2026-03-28'],
    ['day', 'Europe/Berlin', '2026-03-28T23:00Z', '2026-03-29'],
    ['day', 'Europe/Berlin', '2026-03-29T21:45Z', '2026-03-29'],
    ['day', 'Europe/Berlin', '2026-03-29T22:00Z', '2026-03-30'],
    ['day', 'Asia/Kathmandu', '2026-11-23T18:00Z', '2026-11-23'],
    ['day', 'Asia/Kathmandu', '2026-11-23T18:15Z', '2026-11-24'],
    ['month', 'Pacific/Kiritimati', '2026-10-31T10:00Z', '2026-11'],
  ] as const)('of one %s in %s at %s is %s', (...[per, timezone, time, label]) =>
    expect(createLabels(per, timezone)(at(time))).toBe(label),
  )
})

describe('a report', () => {
  it('begins and ends with whole days of the time zone', async () => {
    const rows = ['2026-11-23T18:00Z', '2026-11-23T18:15Z', '2026-11-24T18:00Z', '2026-11-24T18:15Z'].map(usageAt)
    const day = { day: '2026-11-24' }
    const query: UsageQuery = { per: 'day', from: day, until: day, timezone: 'Asia/Kathmandu', isIncluded }
    const { total, items } = await reportUsage(storeOf(rows), query)
    expect(items).toMatchObject([{ period: '2026-11-24', sums: { steps: 2, costNanoUsd: 10 } }])
    expect(total.steps).toBe(2)
  })

  it('reads all parts of a long list', async () => {
    const rows = Array.from({ length: 1500 }, (_, index) => ({ ...usageAt('2026-11-24T00:00Z'), model: `m${index}` }))
    expect((await reportUsage(storeOf(rows), always)).total).toMatchObject({ steps: 1500, costNanoUsd: 7500 })
  })

  it('adds up the sessions beyond those that cost most, however many there are', async () => {
    const sessions = Array.from({ length: 25_000 }, (_, index) => ({
      ...sums,
      at: at('2026-11-24T00:00Z'),
      sessionKey: `s${index}`,
      costNanoUsd: index,
    }))
    const { total, items } = await reportUsage(storeOf([], sessions), { ...always, by: 'session' })
    expect(items).toHaveLength(101)
    expect(items[0]).toMatchObject({ key: 's24999', sums: { costNanoUsd: 24_999 } })
    expect(items.at(-1)).toMatchObject({ key: null, isOthers: true, sums: { steps: 24_900 } })
    const cost = items.reduce((sum, item) => sum + item.sums.costNanoUsd, 0)
    expect(cost).toBe(total.costNanoUsd)
    expect(total).toMatchObject({ steps: 25_000, costNanoUsd: (24_999 * 25_000) / 2 })
  })

  it('refuses to have thousands of items', async () => {
    const rows = Array.from({ length: 400 * 60 }, (_, index) => ({
      ...usageAt('2025-01-01T00:00Z'),
      at: at('2025-01-01T00:00Z') + Math.floor(index / 60) * 24 * 3_600_000,
      model: `m${index % 60}`,
    }))
    const report = reportUsage(storeOf(rows), { ...always, by: 'model', per: 'day' })
    await expect(report).rejects.toThrow(/^The report would have more than \d+ items; choose a later since/)
  })
})
