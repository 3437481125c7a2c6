// A list that is loaded page by page and changed by live updates, and a single record that is loaded.
import { batch, type ReadonlySignal, signal } from '@preact/signals'
import { useEffect, useMemo } from 'preact/hooks'
import { messageOf, useApp } from './app.ts'

export type LoadState = 'loading' | 'ready' | 'failed'

export interface Pages<Row> {
  rows: ReadonlySignal<readonly Row[]>
  state: ReadonlySignal<LoadState>
  error: ReadonlySignal<string | undefined>
  cursor: ReadonlySignal<string | undefined>
  hasMore: ReadonlySignal<boolean>
  /** Whether new rows have pushed old ones out, so that no page follows the last row. */
  isCut: ReadonlySignal<boolean>
  keyOf(row: Row): string
  /** Appends the next page. */
  more(): Promise<void>
  /** Loads the list again, as far as it is shown, so that the reader keeps the place. */
  reload(): Promise<void>
  /** Replaces rows that have changed, and puts new ones at the top. */
  merge(changes: readonly Row[], isListed: (row: Row) => boolean): void
}

export interface Page<Row> {
  items: Row[]
  next?: string | undefined
}

/**
 * Of calls that come while the work is under way, a single one follows it. So frequent changes cannot keep a view from
 * showing what it loads.
 */
function oneAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined
  const start = (): Promise<void> => (running ??= work().finally(() => (running = undefined)))
  return () => {
    if (!running) return start()
    next ??= running.then(() => {
      next = undefined
      return start()
    })
    return next
  }
}

/** A list grows with live updates to this many rows. Then new ones push old ones out, which can be loaded again. */
const maxRows = 400

export function createPages<Row>(
  load: (cursor: string | undefined) => Promise<Page<Row>>,
  keyOf: (row: Row) => string,
): Pages<Row> {
  const rows = signal<readonly Row[]>([])
  const state = signal<LoadState>('loading')
  const error = signal<string | undefined>(undefined)
  const cursor = signal<string | undefined>(undefined)
  const hasMore = signal(false)
  const isCut = signal(false)
  /** How often the list was loaded. A page that was asked for before does not belong to it. */
  let loads = 0

  async function fetchAgain(): Promise<void> {
    loads++
    const wanted = Math.min(rows.peek().length, maxRows)
    state.value = 'loading'
    try {
      let { items, next } = await load(undefined)
      while (items.length < wanted && next !== undefined) {
        const page = await load(next)
        items = append(items, page.items)
        next = page.next
      }
      show(items, next)
    } catch (problem) {
      fail(problem)
    }
  }

  async function fetchNext(from: string | undefined): Promise<void> {
    const isOver = (): boolean => cursor.peek() !== from || isCut.peek()
    const own = loads
    state.value = 'loading'
    try {
      const { items, next } = await load(from)
      if (own !== loads) return
      if (isOver()) state.value = 'ready'
      else show(append(rows.peek(), items), next)
    } catch (problem) {
      if (own === loads) fail(problem)
    }
  }

  function show(items: readonly Row[], next: string | undefined): void {
    batch(() => {
      rows.value = items
      cursor.value = next
      hasMore.value = next !== undefined
      isCut.value = false
      error.value = undefined
      state.value = 'ready'
    })
  }

  function fail(problem: unknown): void {
    batch(() => {
      error.value = messageOf(problem)
      state.value = 'failed'
    })
  }

  function append(known: readonly Row[], items: readonly Row[]): Row[] {
    const keys = new Set(known.map(keyOf))
    return [...known, ...items.filter((row) => !keys.has(keyOf(row)))]
  }

  return {
    rows,
    state,
    error,
    cursor,
    hasMore,
    isCut,
    keyOf,
    reload: oneAtATime(fetchAgain),
    more: async () => {
      if (state.peek() !== 'loading' && hasMore.peek() && !isCut.peek()) await fetchNext(cursor.peek())
    },
    merge: (changes, isListed) => {
      const newest = new Map(changes.map((row) => [keyOf(row), row]))
      const most = Math.max(maxRows, rows.peek().length)
      const kept = rows.peek().flatMap((row) => {
        const changed = newest.get(keyOf(row))
        newest.delete(keyOf(row))
        if (changed === undefined) return [row]
        return isListed(changed) ? [changed] : []
      })
      const added = [...newest.values()].filter(isListed).toReversed()
      const merged = [...added, ...kept]
      batch(() => {
        rows.value = merged.slice(0, most)
        // The cursor continues after the rows that are gone.
        if (merged.length > most) isCut.value = true
      })
    },
  }
}

/** The pages of a list. A change of `key` loads another list; a new connection loads this one again. */
export function usePages<Row extends { id: string }>(
  key: string,
  load: (cursor: string | undefined) => Promise<Page<Row>>,
): Pages<Row>
export function usePages<Row>(
  key: string,
  load: (cursor: string | undefined) => Promise<Page<Row>>,
  keyOf: (row: Row) => string,
): Pages<Row>
export function usePages<Row>(
  key: string,
  load: (cursor: string | undefined) => Promise<Page<Row>>,
  keyOf = (row: Row): string => (row as { id: string }).id,
): Pages<Row> {
  const { live } = useApp()
  const pages = useMemo(() => createPages(load, keyOf), [key])
  useEffect(() => void pages.reload(), [pages, live.epoch.value])
  return pages
}

export interface Loaded<Value> {
  value: ReadonlySignal<Value | undefined>
  state: ReadonlySignal<LoadState>
  error: ReadonlySignal<string | undefined>
  reload(): Promise<void>
  /** Changes the value without loading it. */
  set(value: Value): void
}

export function createLoaded<Value>(load: () => Promise<Value>): Loaded<Value> {
  const value = signal<Value | undefined>(undefined)
  const state = signal<LoadState>('loading')
  const error = signal<string | undefined>(undefined)
  async function fetchAgain(): Promise<void> {
    try {
      const next = await load()
      batch(() => {
        value.value = next
        error.value = undefined
        state.value = 'ready'
      })
    } catch (problem) {
      batch(() => {
        error.value = messageOf(problem)
        state.value = 'failed'
      })
    }
  }

  return { value, state, error, set: (next) => void (value.value = next), reload: oneAtATime(fetchAgain) }
}

/** One record. A change of `key` loads another one; a new connection loads this one again. */
export function useLoaded<Value>(key: string, load: () => Promise<Value>): Loaded<Value> {
  const { live } = useApp()
  const loaded = useMemo(() => createLoaded(load), [key])
  useEffect(() => void loaded.reload(), [loaded, live.epoch.value])
  return loaded
}
