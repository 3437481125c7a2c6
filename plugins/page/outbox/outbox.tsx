// The view of the outbox: deliveries with filters, live, and the detail of one.
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { useLivePages } from '../app/use-live-pages.ts'
import { asNames } from '../ui/fields.tsx'
import { ListView, oneOf } from '../ui/list-view.tsx'
import { Status } from '../ui/parts.tsx'
import { Detail } from './detail.tsx'

const statuses = ['unknown', 'failed', 'pending', 'sending', 'sent', 'skipped'] as const

export function Outbox() {
  const { call, router } = useApp()
  const { status, channel } = router.location.value.query
  const pages = useLivePages({
    topic: 'outbox',
    filter: { status: oneOf(statuses, status), channel },
    load: (query) => call('GET /api/outbox', { query }),
    valuesOf: ({ status, channel }) => ({ status, channel }),
  })
  const { may } = useMe()
  const channels = useLoaded('channels', async () =>
    may('GET /api/channels') ? (await call('GET /api/channels')).accounts : [],
  )
  const names = new Set(channels.value.value?.map((account) => account.channel))
  return (
    <ListView
      view="outbox"
      title="Outbox"
      nouns={['delivery', 'deliveries']}
      pages={pages}
      filters={[
        { name: 'status', label: 'Status', anyText: 'Any status', options: statuses },
        { name: 'channel', label: 'Channel', anyText: 'All channels', options: asNames(names) },
      ]}
      rowClass="delivery-row"
      row={({ status, channel, to, text, reason }) => (
        <>
          <Status of={status} />
          <span>
            <strong>{channel}</strong> {to}
          </span>
          <span class="muted grow">{reason ?? text}</span>
        </>
      )}
      timeOf={({ createdAt }) => createdAt}
      none={<p>Every message that an agent sends to a channel is listed here, with what became of it.</p>}
      detail={(id, back) => <Detail key={id} id={id} back={back} />}
    />
  )
}
