// The view of webhook requests: a live list with filters, and the detail of one.
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useHookNames } from '../app/use-hook-names.ts'
import { useLivePages } from '../app/use-live-pages.ts'
import { asNames } from '../ui/fields.tsx'
import { plural } from '../ui/format.ts'
import { ListView, oneOf } from '../ui/list-view.tsx'
import { Status } from '../ui/parts.tsx'
import { Detail } from './detail.tsx'

const statuses = ['accepted', 'skipped', 'rejected', 'failed', 'duplicate'] as const
const runStatuses = ['queued', 'running', 'succeeded', 'failed', 'timed_out', 'cancelled'] as const

export function Requests() {
  const { call, router } = useApp()
  const { content } = useMe()
  const { hook, status, runStatus, q } = router.location.value.query
  const pages = useLivePages({
    topic: 'request',
    filter: {
      hook,
      status: oneOf(statuses, status),
      runStatus: oneOf(runStatuses, runStatus),
      q: content ? q : undefined,
    },
    load: (query) => call('GET /api/requests', { query }),
    // The text of a body and the status of runs are not part of a change.
    valuesOf: ({ hook, status }) => ({ hook, status }),
  })
  return (
    <ListView
      view="requests"
      title="Requests"
      nouns={['request', 'requests']}
      pages={pages}
      filters={[
        { name: 'hook', label: 'Hook', anyText: 'All hooks', options: asNames(useHookNames()) },
        { name: 'status', label: 'Status', anyText: 'Any status', options: statuses },
        {
          name: 'runStatus',
          label: 'Status of the runs',
          anyText: 'Any run',
          options: runStatuses.map((one) => [one, `run ${one.replaceAll('_', ' ')}`]),
        },
        ...(content ? [{ name: 'q', label: 'Search in bodies', isText: true }] : []),
      ]}
      rowClass="request-row"
      row={(request) => (
        <>
          <Status of={request.status} />
          <strong>{request.hook}</strong>
          <span class="muted grow">{describe(request)}</span>
        </>
      )}
      timeOf={({ at }) => at}
      none={<p>Every webhook that arrives is listed here, also those that the gateway rejects, with the reason.</p>}
      detail={(id, back) => <Detail key={id} id={id} back={back} />}
    />
  )
}

/** What a request led to, or why it led to nothing. */
function describe({
  error,
  count,
  reason,
  skippedBy,
  replayOf,
  runIds = [],
  eventIds = [],
}: Item<'GET /api/requests'>) {
  if (error) return count === undefined ? error.message : `The last of ${count} requests: ${error.message}`
  if (reason === 'handshake') return 'A verification request'
  if (skippedBy) return `Skipped by rule ${skippedBy.rule + 1} of ${skippedBy.mapping}`
  const parts = [
    ...(runIds.length > 0 ? [plural(runIds.length, 'run')] : []),
    ...(eventIds.length > 0 ? [plural(eventIds.length, 'event')] : []),
    ...(replayOf === undefined ? [] : ['a replay']),
  ]
  return parts.join(', ')
}
