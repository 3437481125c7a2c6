// The view of approvals: the tool calls that a person has to approve, live, and the detail of one.
import { useApp } from '../app/app.ts'
import { useLivePages } from '../app/use-live-pages.ts'
import { ListView, oneOf } from '../ui/list-view.tsx'
import { Status } from '../ui/parts.tsx'
import { Detail } from './detail.tsx'

const statuses = ['waiting', 'approved', 'denied', 'expired', 'cancelled'] as const

export function Approvals() {
  const { call, router } = useApp()
  const { status, runId } = router.location.value.query
  const pages = useLivePages({
    topic: 'approval',
    filter: { status: oneOf(statuses, status), runId },
    load: (query) => call('GET /api/approvals', { query }),
    valuesOf: ({ status, runId }) => ({ status, runId }),
  })
  return (
    <ListView
      view="approvals"
      title="Approvals"
      nouns={['approval', 'approvals']}
      pages={pages}
      filters={[
        { name: 'runId', label: 'Run' },
        { name: 'status', label: 'Status', anyText: 'Any status', options: statuses },
      ]}
      rowClass="delivery-row"
      row={({ status, tool, agentId, origin }) => (
        <>
          <Status of={status} />
          <span>
            <strong>{tool}</strong> {agentId}
          </span>
          <span class="muted grow">{origin}</span>
        </>
      )}
      timeOf={({ createdAt }) => createdAt}
      none={
        <p>
          With <code>tools.ask</code>, a call of a tool waits here until a person approves or denies it.
        </p>
      }
      detail={(id, back) => <Detail key={id} id={id} back={back} />}
    />
  )
}
