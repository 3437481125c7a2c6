// The view of usage: what models have used by day, for what, and what is left of each budget.
import type { Reply } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useLoaded } from '../app/pages.ts'
import type { Location } from '../app/router.ts'
import { usePolling } from '../app/use-polling.ts'
import { Select } from '../ui/fields.tsx'
import { formatCost, formatCount, plural } from '../ui/format.ts'
import { Empty, Loading, Notice, Section, Tiles } from '../ui/parts.tsx'
import { Plot } from '../ui/plot.tsx'
import { Budgets } from './budgets.tsx'
import { sumDays } from './days.ts'

type Report = Reply<'GET /api/usage'>

const keys = ['agent', 'kind', 'hook', 'channel', 'model', 'session'] as const
type Key = (typeof keys)[number]
const keyTexts: readonly (readonly [Key, string])[] = [
  ['agent', 'by agent'],
  ['kind', 'by what started it'],
  ['hook', 'by hook'],
  ['channel', 'by channel'],
  ['model', 'by model'],
  ['session', 'by session'],
]
const spans = [
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
  ['365d', '365 days'],
] as const

const pollMs = 15_000

/** What the view shows, from the address. A word that it does not know counts as none. */
function choose(query: Location['query']) {
  return {
    by: keys.find((key) => key === query['by']) ?? 'agent',
    since: spans.find(([span]) => span === query['since'])?.[0] ?? '30d',
    unit: query['unit'] === 'tokens' ? 'tokens' : 'cost',
  } as const
}

export function Usage() {
  const { call, router } = useApp()
  const { by, since, unit } = choose(router.location.value.query)
  const days = useLoaded(`usage ${since}`, () => call('GET /api/usage', { query: { per: 'day', since } }))
  const sums = useLoaded(`usage ${since} ${by}`, () => call('GET /api/usage', { query: { by, since } }))
  usePolling(pollMs, () => void Promise.all([days.reload(), sums.reload()]))
  const problem = days.error.value ?? sums.error.value
  return (
    <>
      <header class="bar">
        <h1>Usage</h1>
        <Select label="Since" value={since} options={spans} onChange={(next) => router.filter({ since: next })} />
        <Select label="Sums" value={by} options={keyTexts} onChange={(next) => router.filter({ by: next })} />
        <Select
          label="Plot"
          value={unit}
          options={['cost', 'tokens']}
          onChange={(next) => router.filter({ unit: next })}
        />
      </header>
      <div class="scroll">
        <div class="content">
          {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
          {days.value.value ? (
            <Days report={days.value.value} unit={unit} />
          ) : (
            days.state.value === 'loading' && <Loading />
          )}
          {sums.value.value && <Sums report={sums.value.value} by={by} />}
          <Budgets />
        </div>
      </div>
    </>
  )
}

function Days({ report, unit }: { report: Report; unit: 'cost' | 'tokens' }) {
  const { total, timezone, prices } = report
  const format = unit === 'cost' ? formatCost : formatCount
  const { times, values } = sumDays(report, ({ cost = 0, totalTokens }) => (unit === 'cost' ? cost : totalTokens))
  const sum = unit === 'cost' ? formatCost(total.cost) : formatCount(total.totalTokens)
  return (
    <>
      <Tiles
        of={[
          ['Cost', formatCost(total.cost)],
          ['Model calls', formatCount(total.steps)],
          ['Tokens in', formatCount(total.inputTokens)],
          ['Of them from the cache', formatCount(total.cachedInputTokens)],
          ['Tokens out', formatCount(total.outputTokens)],
        ]}
      />
      {total.unpricedSteps !== undefined && (
        <Notice tone="warn">
          {plural(total.unpricedSteps, 'model call')} without a known price cannot be in the cost. Prices: {prices}.
        </Notice>
      )}
      <Section
        title={unit === 'cost' ? 'Cost per day' : 'Tokens per day'}
        action={<span class="muted small">{timezone}</span>}
      >
        <div class="card">
          <Plot
            key={unit}
            label={`${unit === 'cost' ? 'Cost' : 'Tokens'} per day since ${report.since}: ${sum} in all`}
            times={times}
            series={[{ name: unit, color: '--accent', values }]}
            perDay={{ format }}
          />
        </div>
      </Section>
    </>
  )
}

function Sums({ report: { items }, by }: { report: Report; by: Key }) {
  const title = `Usage ${keyTexts.find(([key]) => key === by)?.[1]}`
  return (
    <Section title={title}>
      {/* It scrolls, so the keyboard must reach it. */}
      <div class="card wide" tabIndex={0} role="group" aria-label={title}>
        {items.length === 0 ? (
          <Empty title="No model has been used in this time" />
        ) : (
          <table class="table">
            <thead>
              <tr>
                <th>Name</th>
                <th class="end">Cost</th>
                <th class="end">Model calls</th>
                <th class="end">Tokens in</th>
                <th class="end">Tokens out</th>
              </tr>
            </thead>
            <tbody>
              {items.map((item) => (
                <tr key={JSON.stringify([item[by], item.others])}>
                  <td>{item[by] ?? <span class="muted">{item.others ? 'all others together' : 'all else'}</span>}</td>
                  <td class="end">{formatCost(item.cost)}</td>
                  <td class="end">{formatCount(item.steps)}</td>
                  <td class="end">{formatCount(item.inputTokens)}</td>
                  <td class="end">{formatCount(item.outputTokens)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </Section>
  )
}
