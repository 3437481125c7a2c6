// The first view: what needs the reader now, what happened in the last hour, and the first steps on a new gateway.
import { useRef } from 'preact/hooks'
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { type Loaded, useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { useSoon } from '../app/use-soon.ts'
import { usePolling } from '../app/use-polling.ts'
import { capitalize, formatClock, formatCost, formatCount } from '../ui/format.ts'
import { Plot } from '../ui/plot.tsx'
import { Empty, Loading, Notice, Section, Status, Tiles, Time } from '../ui/parts.tsx'
import { titleOf } from '../ui/run-title.ts'
import {
  countByMinute,
  hourMs,
  isFailed,
  loadRecent,
  mergeRecent,
  type Recent,
  sumCosts,
  summarize,
} from './activity.ts'
import { FirstSteps } from './first-steps.tsx'
import { Attention } from './attention.tsx'

type Request = Item<'GET /api/requests'>
type Run = Item<'GET /api/runs'>

interface Activity {
  requests: Recent<Request>
  runs: Recent<Run>
}

const unfinished = ['queued', 'running', 'waiting'] as const
/** Beyond it, a count has a plus sign. */
const maxCounted = 200

/** How many runs there are now that have not ended. */
type Unfinished = readonly (readonly [status: (typeof unfinished)[number], count: string])[]

/** How often live changes are shown, and how often all is loaded again. */
const [changeMs, idleMs] = [1_000, 30_000]

const atOfRequest = ({ at }: Request): string => at
const atOfRun = ({ createdAt }: Run): string => createdAt

export function Home() {
  const activity = useActivity()
  const counts = useUnfinished()
  const { value } = activity.value
  return (
    <>
      <header class="bar">
        <h1>Home</h1>
      </header>
      <div class="scroll">
        <div class="content">
          {activity.state.value === 'failed' && <Notice tone="bad">{activity.error.value}</Notice>}
          <Attention />
          <FirstSteps />
          {value ? (
            <LastHour activity={value} counts={counts.value.value} />
          ) : (
            activity.state.value === 'loading' && <Loading />
          )}
        </div>
      </div>
    </>
  )
}

/** The requests and runs of the last hour. */
function useActivity(): Loaded<Activity> {
  const { call } = useApp()
  const changed = useRef<{ requests: Request[]; runs: Run[] }>({ requests: [], runs: [] })
  const addChanges = (known: Activity): Activity => {
    const { requests, runs } = changed.current
    changed.current = { requests: [], runs: [] }
    return {
      requests: mergeRecent(known.requests, requests, atOfRequest),
      runs: mergeRecent(known.runs, runs, atOfRun),
    }
  }
  const activity = useLoaded('activity', async (): Promise<Activity> => {
    const since = new Date(Date.now() - hourMs).toISOString()
    const [requests, runs] = await Promise.all([
      loadRecent((page) => call('GET /api/requests', { query: { ...page, since } }), atOfRequest),
      loadRecent((page) => call('GET /api/runs', { query: page }), atOfRun),
    ])
    return addChanges({ requests, runs })
  })
  const showChanges = useSoon(changeMs, () => {
    const known = activity.value.peek()
    if (known) activity.set(addChanges(known))
  })
  useLive('request', (changes) => {
    changed.current.requests.push(...changes)
    showChanges()
  })
  useLive('run', (changes) => {
    changed.current.runs.push(...changes)
    showChanges()
  })
  usePolling(idleMs, () => void activity.reload())
  return activity
}

function useUnfinished(): Loaded<Unfinished> {
  const { call } = useApp()
  const counts = useLoaded('unfinished', () =>
    Promise.all(
      unfinished.map(async (status) => {
        const { items, next } = await call('GET /api/runs', { query: { status, limit: maxCounted } })
        return [status, `${formatCount(items.length)}${next === undefined ? '' : '+'}`] as const
      }),
    ),
  )
  const countSoon = useSoon(changeMs, counts.reload)
  useLive('run', countSoon)
  usePolling(idleMs, () => void counts.reload())
  return counts
}

interface LastHourProps {
  activity: Activity
  /** Undefined: they are not known yet. */
  counts: Unfinished | undefined
}

function LastHour({ activity: { requests, runs }, counts = unfinished.map((status) => [status, '–']) }: LastHourProps) {
  const { now } = useApp()
  const from = Math.max(requests.since, runs.since)
  const span = from > now.value - hourMs + 60_000 ? `since ${formatClock(from)}` : 'in the last hour'
  const failures = runs.items.filter(isFailed)
  const refused = requests.items.filter(({ status }) => status === 'rejected' || status === 'failed')
  const requestCounts = countByMinute(requests.items, { at: ({ at }) => at, from, to: now.value })
  const refusedCounts = countByMinute(refused, { at: ({ at }) => at, from, to: now.value })
  const runCounts = countByMinute(runs.items, { at: ({ createdAt }) => createdAt, from, to: now.value })
  const failureCounts = countByMinute(failures, { at: ({ createdAt }) => createdAt, from, to: now.value })
  const tokens = runs.items.reduce((sum, { usage }) => sum + (usage?.totalTokens ?? 0), 0)
  const cost = sumCosts(runs.items)
  return (
    <>
      <Tiles
        of={[
          ['Requests', formatCount(requests.items.length)],
          ['Rejected or failed', formatCount(refused.length)],
          ['Runs', formatCount(runs.items.length)],
          ['Failed runs', formatCount(failures.length)],
          ...counts.map(
            ([status, count]) =>
              [
                `${capitalize(status)} now`,
                <a key={status} href={formatFragment({ view: 'runs', query: { status } })}>
                  {count}
                </a>,
              ] as const,
          ),
          ['Tokens', formatCount(tokens)],
          ['Cost', formatCost(cost)],
        ]}
      />
      <div class="columns">
        <Section title="Requests per minute" action={<span class="muted small">{span}</span>}>
          <div class="card">
            <Plot
              label={`Requests per minute ${span}: ${requests.items.length} in all, ${refused.length} of them rejected or failed`}
              times={requestCounts.times}
              series={[
                { name: 'all', color: '--accent', values: requestCounts.counts },
                { name: 'rejected or failed', color: '--bad', values: refusedCounts.counts },
              ]}
            />
          </div>
        </Section>
        <Section title="Runs per minute" action={<span class="muted small">{span}</span>}>
          <div class="card">
            <Plot
              label={`Runs per minute ${span}: ${runs.items.length} in all, ${failures.length} of them failed`}
              times={runCounts.times}
              series={[
                { name: 'all', color: '--accent', values: runCounts.counts },
                { name: 'failed', color: '--bad', values: failureCounts.counts },
              ]}
            />
          </div>
        </Section>
      </div>
      <div class="columns">
        <Breakdown
          title="By hook and origin"
          runs={runs.items}
          nameOf={({ origin }) => (origin.name === origin.kind ? origin.kind : `${origin.kind} ${origin.name}`)}
          filterOf={({ kind, origin }) => ({ kind, ...(kind === 'hook' && { hook: origin.name }) })}
        />
        <Breakdown
          title="By agent"
          runs={runs.items}
          nameOf={({ agentId }) => agentId}
          filterOf={({ agentId }) => ({ agentId })}
        />
      </div>
      <Section
        title="Last failures"
        action={
          <a href={formatFragment({ view: 'runs', query: { status: 'failed' } })} class="small">
            All failed runs
          </a>
        }
      >
        {failures.length === 0 ? (
          <p class="muted">No run has failed {span}.</p>
        ) : (
          <ul class="rows card">
            {failures.slice(0, 8).map((run) => (
              <li key={run.id}>
                <a class="row failure-row" href={formatFragment({ view: 'runs', item: run.id })}>
                  <Status of={run.status} />
                  <span>
                    <strong>{titleOf(run)}</strong> <span class="muted">{run.error?.message}</span>
                  </span>
                  <span class="muted end small">
                    <Time at={run.createdAt} />
                  </span>
                </a>
              </li>
            ))}
          </ul>
        )}
      </Section>
    </>
  )
}

interface BreakdownProps {
  title: string
  runs: readonly Run[]
  nameOf(run: Run): string
  /** The filters of the list of these runs. */
  filterOf(run: Run): Readonly<Record<string, string>>
}

/** The runs of each name, those that cost most first. */
function Breakdown({ title, runs, nameOf, filterOf }: BreakdownProps) {
  const rows = summarize(runs, nameOf)
  return (
    <Section title={title}>
      <div class="card wide">
        {rows.length === 0 ? (
          <Empty title="No runs" />
        ) : (
          <table class="table">
            <thead>
              <tr>
                <th>Name</th>
                <th class="end">Runs</th>
                <th class="end">Failed</th>
                <th class="end">Tokens</th>
                <th class="end">Cost</th>
              </tr>
            </thead>
            <tbody>
              {rows.slice(0, 8).map(({ name, first, count, failed, tokens, cost }) => (
                <tr key={name}>
                  <td>
                    <a href={formatFragment({ view: 'runs', query: filterOf(first) })}>{name}</a>
                  </td>
                  <td class="end">{formatCount(count)}</td>
                  <td class="end">{failed > 0 ? <span class="bad">{formatCount(failed)}</span> : 0}</td>
                  <td class="end">{formatCount(tokens)}</td>
                  <td class="end">{formatCost(cost)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </div>
    </Section>
  )
}
