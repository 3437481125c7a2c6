// The view of runs: a live list with filters, retrying all failed runs of a filter, and the detail of one.
import { useState } from 'preact/hooks'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useHookNames } from '../app/use-hook-names.ts'
import { useLivePages } from '../app/use-live-pages.ts'
import { asNames } from '../ui/fields.tsx'
import { ListView } from '../ui/list-view.tsx'
import { Button, Status } from '../ui/parts.tsx'
import { titleOf } from '../ui/run-title.ts'
import { Detail } from './detail.tsx'
import { filterOf, kinds, statuses } from './filter.ts'
import { RetryAll } from './retry-all.tsx'
import { RunDuration } from './run-duration.tsx'

export function Runs() {
  const { call, router } = useApp()
  const pages = useLivePages({
    topic: 'run',
    filter: filterOf(router.location.value.query),
    load: (query) => call('GET /api/runs', { query }),
    valuesOf: ({ status, kind, origin, agentId, sessionKey }) => ({
      status,
      kind,
      hook: kind === 'hook' ? origin.name : undefined,
      agentId,
      sessionKey,
    }),
  })
  return (
    <ListView
      view="runs"
      title="Runs"
      nouns={['run', 'runs']}
      pages={pages}
      actions={<RetryAllButton />}
      filters={[
        { name: 'sessionKey', label: 'Session' },
        { name: 'agentId', label: 'Agent' },
        { name: 'status', label: 'Status', anyText: 'Any status', options: statuses },
        { name: 'kind', label: 'Started by', anyText: 'Started by anything', options: kinds },
        { name: 'hook', label: 'Hook', anyText: 'All hooks', options: asNames(useHookNames()) },
      ]}
      rowClass="runs-row"
      row={(run) => (
        <>
          <Status of={run.status} />
          <strong>{titleOf(run)}</strong>
          <span class="muted grow">{run.error?.message ?? run.reply ?? ''}</span>
          <span class="muted end small duration">
            <RunDuration run={run} />
          </span>
        </>
      )}
      timeOf={({ createdAt }) => createdAt}
      none={<p>A webhook, a message, a schedule or the heartbeat starts a run of an agent.</p>}
      detail={(id, back) => <Detail key={id} id={id} back={back} />}
    />
  )
}

function RetryAllButton() {
  const { router } = useApp()
  const { may } = useMe()
  const [isOpen, setOpen] = useState(false)
  const { query } = router.location.value
  const areFailures = query['status'] === 'failed' || query['status'] === 'timed_out'
  if (!areFailures || !may('POST /api/runs/{id}/retry')) return null
  return (
    <>
      <Button icon="replay" onClick={() => setOpen(true)}>
        Retry all
      </Button>
      {isOpen && <RetryAll query={query} onClose={() => setOpen(false)} />}
    </>
  )
}
