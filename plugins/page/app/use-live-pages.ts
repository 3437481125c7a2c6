// A list with filters that is changed by the live updates of a topic.
import type { Topics } from './live.ts'
import { type Page, type Pages, usePages } from './pages.ts'
import { useLive } from './use-live.ts'
import { useSoon } from './use-soon.ts'

type Filter = Readonly<Record<string, string | undefined>>

/** The topics whose changes are whole rows with an id. */
type RowTopic = 'request' | 'run' | 'outbox' | 'approval'

interface LivePagesOptions<Name extends RowTopic, Given extends Filter> {
  topic: Name
  filter: Given
  load(query: Given & { cursor: string | undefined }): Promise<Page<Topics[Name]>>
  /** What the filters are compared with. A filter that is missing here cannot be compared. */
  valuesOf(row: Topics[Name]): Partial<Record<keyof Given, string | undefined>>
}

/** How soon a list is loaded again whose filters cannot be compared with a change. */
const reloadMs = 1_000

export function useLivePages<Name extends RowTopic, Given extends Filter>({
  topic,
  filter,
  load,
  valuesOf,
}: LivePagesOptions<Name, Given>): Pages<Topics[Name]> {
  const pages = usePages(JSON.stringify(filter), (cursor) => load({ ...filter, cursor }))
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
  const isListed = (row: Topics[Name]): boolean => {
    const values: Filter = valuesOf(row)
    return wanted.every(([name, value]) => values[name] === value)
  }
  const reloadSoon = useSoon(reloadMs, pages.reload)
  useLive(topic, (changes) => {
    const [first] = changes
    if (first && wanted.some(([name]) => !Object.hasOwn(valuesOf(first), name))) reloadSoon()
    else pages.merge(changes, isListed)
  })
  return pages
}
