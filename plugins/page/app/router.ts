// The address of the page: a view, an item and filters in the fragment, such as `#/requests/4f2a?status=rejected`.
import { type ReadonlySignal, signal } from '@preact/signals'

export interface Location {
  /** The name of the view. */
  view: string
  /** What the view shows, such as an id. */
  item: string | undefined
  /** The filters. None of them is empty. */
  query: Readonly<Record<string, string>>
}

export interface Router {
  location: ReadonlySignal<Location>
  /** Shows another location. With `replace`, the browser's back button does not return to the current one. */
  go(to: Partial<Location> & { view: string }, options?: { replace?: boolean }): void
  /** Changes filters of the current location. An empty or missing value removes the filter. */
  filter(changes: Readonly<Record<string, string | undefined>>): void
}

export function parseFragment(fragment: string): Location {
  const [path = '', search = ''] = fragment.replace(/^#?\/?/, '').split(/\?(.*)/s)
  const [view = '', ...rest] = path.split('/')
  const item = rest.map(decode).join('/')
  const query = Object.fromEntries([...new URLSearchParams(search)].filter(([, value]) => value !== ''))
  return { view: decode(view), item: item || undefined, query }
}

/** Returns the `href` of a link to a location. */
export function formatFragment({ view, item, query = {} }: Partial<Location> & { view: string }): string {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString()
  return `#/${view}${item === undefined ? '' : `/${encodeURIComponent(item.toWellFormed())}`}${search && `?${search}`}`
}

/** A fragment may be written by hand, so it may be malformed. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export function createRouter(host: Pick<Window, 'location' | 'history' | 'addEventListener'>): Router {
  const location = signal(parseFragment(host.location.hash))
  const read = (): void => void (location.value = parseFragment(host.location.hash))
  host.addEventListener('hashchange', read)
  host.addEventListener('popstate', read)

  const go: Router['go'] = (to, { replace = false } = {}) => {
    const fragment = formatFragment(to)
    if (replace) host.history.replaceState(null, '', fragment)
    else host.history.pushState(null, '', fragment)
    read()
  }

  return {
    location,
    go,
    filter: (changes) => {
      const { query, ...rest } = location.peek()
      const merged = Object.entries({ ...query, ...changes }).filter((entry): entry is [string, string] =>
        Boolean(entry[1]),
      )
      go({ ...rest, query: Object.fromEntries(merged) }, { replace: true })
    },
  }
}
