// How much arrives at a hook, and how much of it is refused.
import { useApp } from '../app/app.ts'
import { usePages } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { formatCount } from '../ui/format.ts'
import { Notice, Section, Status, Tiles, Time } from '../ui/parts.tsx'

const [hourMs, dayMs] = [3_600_000, 86_400_000]
/** The newest requests are enough for a rate; a count that they do not cover has a plus sign. */
const maxCounted = 200
const maxFailures = 5

export function Activity({ hook }: { hook: string }) {
  const { call, now } = useApp()
  const pages = usePages(
    `activity ${hook}`,
    (cursor) => call('GET /api/requests', { query: { hook, cursor, limit: maxCounted } }),
    ({ id }) => id,
  )
  useLive('request', (changes) => pages.merge(changes, (request) => request.hook === hook))
  if (pages.state.value === 'failed') return <Notice tone="bad">{pages.error.value}</Notice>
  const newest = pages.rows.value.slice(0, maxCounted)
  const [last] = newest
  if (!last) return null
  const failures = newest.filter(({ status }) => status === 'rejected' || status === 'failed')
  const isCut = pages.hasMore.value || pages.rows.value.length > maxCounted
  const countSince = (ms: number): string => {
    const within = newest.filter(({ at }) => Date.parse(at) >= now.value - ms).length
    return `${formatCount(within)}${isCut && within === newest.length ? '+' : ''}`
  }
  return (
    <Section title="What arrives">
      <Tiles
        of={[
          ['Last request', <Time key="last" at={last.at} />],
          ['In the last hour', countSince(hourMs)],
          ['In the last day', countSince(dayMs)],
          [`Refused, of the last ${formatCount(newest.length)}`, formatCount(failures.length)],
        ]}
      />
      {failures.length > 0 && (
        <ul class="rows card" aria-label="Refused requests">
          {failures.slice(0, maxFailures).map(({ id, status, error, at }) => (
            <li key={id}>
              <a class="row run-row" href={formatFragment({ view: 'requests', item: id })}>
                <Status of={status} />
                <span class="grow">{error?.message}</span>
                <span class="muted small">
                  <Time at={at} />
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}
