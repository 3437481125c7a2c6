// The view of the audit log: who did what, newest first, with filters in the address, and the detail of an entry.
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { usePages } from '../app/pages.ts'
import { formatFragment, type Location } from '../app/router.ts'
import { usePolling } from '../app/use-polling.ts'
import { formatExact } from '../ui/format.ts'
import { type Filter, ListView, oneOf } from '../ui/list-view.tsx'
import { DetailHead } from '../ui/list.tsx'
import { Facts, RecordLink, Status } from '../ui/parts.tsx'

type Entry = Item<'GET /api/audit'>
type Query = Location['query']

const outcomes = ['done', 'refused', 'failed'] as const
const hourMs = 3_600_000
const spans = [
  ['1h', 'The last hour', hourMs],
  ['24h', 'The last 24 hours', 24 * hourMs],
  ['7d', 'The last 7 days', 7 * 24 * hourMs],
  ['30d', 'The last 30 days', 30 * 24 * hourMs],
] as const

const pollMs = 3_000

/** The filters as the API takes them. A word that it does not know is no filter. */
function filterOf({ actor, action, target, agentId, outcome, since }: Query) {
  const span = spans.find(([name]) => name === since)
  return {
    actor,
    action,
    target,
    agentId,
    outcome: oneOf(outcomes, outcome),
    since: span && new Date(Date.now() - span[2]).toISOString(),
  }
}

export function Audit() {
  const { call, router } = useApp()
  const { query } = router.location.value
  const load = (cursor?: string) => call('GET /api/audit', { query: { cursor, ...filterOf(query) } })
  const pages = usePages(JSON.stringify(filters.map(({ name }) => query[name])), load)
  usePolling(pollMs, () => void showNew())

  /** Puts what is new at the top, so that the pages that the reader has loaded stay. */
  async function showNew(): Promise<void> {
    if (pages.state.value !== 'ready') return
    const newest = await load().catch(() => undefined)
    if (!newest) return
    const known = new Set(pages.rows.value.map(({ id }) => id))
    if (known.size > 0 && !newest.items.some(({ id }) => known.has(id))) return await pages.reload()
    const added = newest.items.filter(({ id }) => !known.has(id))
    if (added.length > 0) pages.merge(added.toReversed(), () => true)
  }

  return (
    <ListView
      view="audit"
      title="Audit"
      nouns={['entry', 'entries']}
      pages={pages}
      filters={filters}
      rowClass="delivery-row"
      row={({ outcome, actor, action, target, reason }) => (
        <>
          <Status of={outcome} />
          <span>
            <strong>{actor.name}</strong> {action}
          </span>
          <span class="muted grow">
            {target} {reason}
          </span>
        </>
      )}
      timeOf={({ at }) => at}
      none={<p>What clients, agents and senders change is listed here, and what they were refused.</p>}
      noneMatches={<p>Who, action, record and agent are compared with the whole name.</p>}
      detail={(id) => {
        const entry = pages.rows.value.find((one) => one.id === id)
        return entry && <Detail entry={entry} query={query} />
      }}
    />
  )
}

const filters: readonly Filter[] = [
  { name: 'actor', label: 'Who', isText: true },
  { name: 'action', label: 'Action', isText: true },
  { name: 'target', label: 'Record', isText: true },
  { name: 'agentId', label: 'Agent', isText: true },
  { name: 'outcome', label: 'Outcome', anyText: 'Any outcome', options: outcomes },
  { name: 'since', label: 'Time', anyText: 'Any time', options: spans.map(([name, text]) => [name, text]) },
]

/** Where the record of an action is shown. The first word of an action is what it is done to. */
const viewsOfRecords: Readonly<Record<string, string>> = {
  run: 'runs',
  request: 'requests',
  delivery: 'outbox',
  approval: 'approvals',
}

function Detail({ entry, query }: { entry: Entry; query: Query }) {
  const { id, at, actor, via, address, action, target, agentId, outcome, reason } = entry
  const [noun = ''] = action.split('.')
  const view = Object.hasOwn(viewsOfRecords, noun) ? viewsOfRecords[noun] : undefined
  const only = (name: string, value: string) => (
    <a key={name} class="break" href={formatFragment({ view: 'audit', query: { ...query, [name]: value } })}>
      {value}
    </a>
  )
  return (
    <>
      <DetailHead title={action} back={formatFragment({ view: 'audit', query })} badge={<Status of={outcome} />} />
      <div class="body">
        <Facts
          of={[
            ['When', formatExact(Date.parse(at))],
            ['Who', only('actor', actor.name)],
            ['Kind', actor.kind],
            ['In the run', actor.runId && <RecordLink key="run" view="runs" id={actor.runId} />],
            ['Via', via],
            ['Address', address],
            ['Action', only('action', action)],
            [
              'Record',
              target && (view === undefined ? only('target', target) : <RecordLink key="t" view={view} id={target} />),
            ],
            ['Agent', agentId && only('agentId', agentId)],
            ['Reason', reason && <code key="reason">{reason}</code>],
            ['Id', <code key="id">{id}</code>],
          ]}
        />
      </div>
    </>
  )
}
