// The view of schedules: what runs when, in which agent, and what it says.
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { usePages } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { formatExact } from '../ui/format.ts'
import { ListView } from '../ui/list-view.tsx'
import { DetailHead } from '../ui/list.tsx'
import { Code, Facts, Notice, Time } from '../ui/parts.tsx'

type Schedule = Item<'GET /api/schedules'>

export function Schedules() {
  const { call } = useApp()
  const pages = usePages('schedules', (cursor) => call('GET /api/schedules', { query: { cursor } }))
  // A schedule that fires begins a run.
  useLive('run', (changes) => {
    if (changes.some(({ kind }) => kind === 'schedule')) void pages.reload()
  })
  return (
    <ListView
      view="schedules"
      title="Schedules"
      nouns={['schedule', 'schedules']}
      pages={pages}
      actions={
        <a class="button" href={formatFragment({ view: 'runs', query: { kind: 'schedule' } })}>
          Runs
        </a>
      }
      rowClass="schedule-row"
      row={({ name, timing, agentId }) => (
        <>
          <strong>{name}</strong>
          <span class="muted">{describeTiming(timing)}</span>
          <span class="muted">{agentId}</span>
        </>
      )}
      timeOf={({ nextAt }) => nextAt}
      none={
        <p>
          An agent makes its own schedules with the tool <code>cron</code>, for example when you ask it to remind you.
        </p>
      }
      detail={(id) => {
        const schedule = pages.rows.value.find((one) => one.id === id)
        return schedule && <Detail schedule={schedule} />
      }}
    />
  )
}

function Detail({ schedule }: { schedule: Schedule }) {
  const { name, agentId, message, timing, nextAt, lastAt, skipped, createdAt } = schedule
  return (
    <>
      <DetailHead title={name} back={formatFragment({ view: 'schedules' })} />
      <div class="body">
        {skipped !== undefined && <Notice tone="warn">The last time it started no run: {skipped}</Notice>}
        <Facts
          of={[
            ['Agent', agentId],
            ['When', describeTiming(timing)],
            ['Next', <Time key="next" at={nextAt} />],
            ['Last', lastAt && <Time key="last" at={lastAt} />],
            ['Created', <Time key="created" at={createdAt} />],
          ]}
        />
        <Code label="Message" text={message} isProse />
      </div>
    </>
  )
}

function describeTiming({ cron, timezone, every, at }: Schedule['timing']): string {
  if (cron !== undefined) return `${cron}${timezone === undefined ? '' : ` (${timezone})`}`
  if (every !== undefined) return `every ${every}`
  return at === undefined ? '' : `once, ${formatExact(Date.parse(at))}`
}
