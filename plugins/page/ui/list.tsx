// Lists of rows that link to details, with the keyboard, and the frame with a list and a detail side by side.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useApp } from '../app/app.ts'
import type { Loaded, Pages } from '../app/pages.ts'
import { capitalize } from './format.ts'
import { Icon } from './icons.tsx'
import { Button, Empty, Loading, LoadingOf, Notice } from './parts.tsx'

interface ListProps<Row> {
  /** The accessible name of the list. */
  label: string
  pages: Pages<Row>
  row(row: Row): ComponentChildren
  /** What is shown when there are no rows. */
  empty: ComponentChildren
}

export function List<Row>({ label, pages, row, empty }: ListProps<Row>) {
  const { rows, state, error, hasMore, isCut } = pages
  if (state.value === 'loading' && rows.value.length === 0) return <Loading />
  if (state.value === 'failed' && rows.value.length === 0)
    return (
      <Empty title="The list could not be loaded">
        <p>{error.value}</p>
        <Button onClick={pages.reload}>Try again</Button>
      </Empty>
    )
  if (rows.value.length === 0 && !hasMore.value) return <>{empty}</>
  return (
    <>
      {state.value === 'failed' && <Notice tone="bad">{error.value}</Notice>}
      <ul class="rows" aria-label={label} onKeyDown={moveFocus}>
        {rows.value.map((one) => (
          <li key={pages.keyOf(one)}>{row(one)}</li>
        ))}
      </ul>
      {isCut.value ? <Cut pages={pages} /> : hasMore.value && <More pages={pages} />}
    </>
  )
}

/** Loads the next page when it comes into sight. After a failure, the reader asks for it. */
function More<Row>({ pages }: { pages: Pages<Row> }) {
  const place = useRef<HTMLDivElement>(null)
  const isReady = pages.state.value === 'ready'
  useEffect(() => {
    const element = place.current
    if (!element || !isReady) return undefined
    const observer = new IntersectionObserver(([entry]) => void (entry?.isIntersecting && void pages.more()), {
      rootMargin: '400px',
    })
    observer.observe(element)
    return () => observer.disconnect()
    // The place may stay in sight, or have come into sight while something else was loaded: look again.
  }, [pages, isReady, pages.rows.value.length, pages.cursor.value])
  return (
    <div class="more" ref={place}>
      <Button kind="quiet" onClick={pages.more}>
        {pages.state.value === 'loading' ? 'Loading…' : 'Show older ones'}
      </Button>
    </div>
  )
}

/** Older rows are loaded from the newest on, when the reader asks for them. */
const Cut = <Row,>({ pages }: { pages: Pages<Row> }) => (
  <div class="more">
    <Button kind="quiet" onClick={pages.reload}>
      Load the list again to see older ones
    </Button>
  </div>
)

/** The arrow keys, `j` and `k` move between the rows; Enter opens one, as it does for any link. */
function moveFocus(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key]
  if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return
  const rows = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('a.row')]
  const next = rows[rows.indexOf(document.activeElement as HTMLElement) + step]
  if (!next) return
  event.preventDefault()
  next.focus()
}

interface SplitProps {
  /** The bar with the title and the filters. */
  bar: ComponentChildren
  list: ComponentChildren
  /** Absent: the list has the whole width. On narrow screens the detail replaces the list. */
  detail?: ComponentChildren
}

export function Split({ bar, list, detail }: SplitProps) {
  const isOpen = detail !== undefined && detail !== null && detail !== false
  return (
    <div class={`split${isOpen ? ' open' : ''}`}>
      <div class="list">
        {bar}
        <div class="scroll">{list}</div>
      </div>
      {isOpen && <div class="detail">{detail}</div>}
    </div>
  )
}

interface DetailProps<Value> extends Pick<DetailHeadProps, 'back'> {
  of: Loaded<Value>
  /** What a record is called, such as `run`. */
  noun: string
  children(value: Value): ComponentChildren
}

/** The detail of a record that is loaded. */
export const LoadedDetail = <Value,>({ of, noun, back, children }: DetailProps<Value>) => (
  <LoadingOf of={of} what={`The ${noun}`} head={<DetailHead title={capitalize(noun)} back={back} />}>
    {children}
  </LoadingOf>
)

interface DetailHeadProps {
  title: string
  /** The link to the list without the detail. */
  back: string
  badge?: ComponentChildren
  actions?: ComponentChildren
}

export function DetailHead({ title, back, badge, actions }: DetailHeadProps) {
  const { keys } = useApp()
  useEffect(
    () => keys.add({ keys: 'Escape', name: 'Close the detail', run: () => void (location.hash = back) }),
    [back],
  )
  return (
    <header class="head">
      <h1 title={title}>{title}</h1>
      {badge}
      <a class="button quiet icon close" href={back} aria-label="Close" title="Close">
        <Icon name="close" />
      </a>
      <div class="actions">{actions}</div>
    </header>
  )
}
