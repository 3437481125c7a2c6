// The frame of a view with a list of records: its filters in the address, the rows, and the detail of one beside them.
import { Component, type ComponentChildren } from 'preact'
import { useApp } from '../app/app.ts'
import type { Pages } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { Search, Select, type SelectProps } from './fields.tsx'
import { capitalize } from './format.ts'
import { List, Split } from './list.tsx'
import { Button, Empty, Time } from './parts.tsx'

export interface Filter {
  /** Its name in the address. */
  name: string
  label: string
  /** The choices. Absent: links set the filter, and it is shown while it is set. */
  options?: SelectProps['options']
  /** The text of the choice that sets no filter. */
  anyText?: string
  /** True: it is a text to type. */
  isText?: boolean
}

interface ListViewProps<Row> {
  /** Its name in the address. */
  view: string
  title: string
  /** What a record is called, and several of them. */
  nouns: readonly [one: string, many: string]
  pages: Pages<Row>
  filters?: readonly Filter[]
  /** What else is in the bar, before the filters. */
  actions?: ComponentChildren
  rowClass: string
  /** What a row shows before its time. */
  row(row: Row): ComponentChildren
  timeOf(row: Row): string
  /** Shown when there are no records at all. */
  none: ComponentChildren
  /** Shown when no record matches the filters. */
  noneMatches?: ComponentChildren
  /** @param back The address of the list. */
  detail(id: string, back: string): ComponentChildren
}

export function ListView<Row>({ view, nouns, pages, filters = [], none, noneMatches, ...props }: ListViewProps<Row>) {
  const { router } = useApp()
  const { item, query } = router.location.value
  const isFiltered = filters.some(({ name }) => query[name] !== undefined)
  const [noun, several] = nouns
  return (
    <Split
      bar={
        <header class="bar">
          <h1>{props.title}</h1>
          {props.actions}
          {filters.map((filter) => (
            <FilterField key={filter.name} filter={filter} value={query[filter.name]} />
          ))}
        </header>
      }
      list={
        <List
          label={capitalize(several)}
          pages={pages}
          row={(row) => (
            <RowLink
              row={row}
              href={formatFragment({ view, item: pages.keyOf(row), query })}
              isCurrent={pages.keyOf(row) === item}
              draw={(href, isCurrent) => (
                <a class={`row ${props.rowClass}`} href={href} aria-current={isCurrent ? 'true' : undefined}>
                  {props.row(row)}
                  <span class="muted end small">
                    <Time at={props.timeOf(row)} />
                  </span>
                </a>
              )}
            />
          )}
          empty={
            isFiltered ? (
              <Empty title={`No ${noun} matches the filters`}>
                {noneMatches}
                <Button onClick={() => router.go({ view })}>Show all {several}</Button>
              </Empty>
            ) : (
              <Empty title={`No ${several} yet`}>{none}</Empty>
            )
          }
        />
      }
      detail={item !== undefined && props.detail(item, formatFragment({ view, query }))}
    />
  )
}

interface RowLinkProps {
  row: unknown
  href: string
  isCurrent: boolean
  draw(href: string, isCurrent: boolean): ComponentChildren
}

/**
 * Of hundreds of rows, only those that have changed are drawn again. What a row shows depends on nothing else. (An
 * element that is kept by `useMemo` would hold the whole list in which it was drawn first.)
 */
class RowLink extends Component<RowLinkProps> {
  override shouldComponentUpdate({ row, href, isCurrent }: RowLinkProps): boolean {
    const { props } = this
    return row !== props.row || href !== props.href || isCurrent !== props.isCurrent
  }
  override render({ href, isCurrent, draw }: RowLinkProps) {
    return draw(href, isCurrent)
  }
}

function FilterField({ filter, value }: { filter: Filter; value: string | undefined }) {
  const { router } = useApp()
  const { name, label, anyText = '', options, isText = false } = filter
  const change = (next: string | undefined): void => router.filter({ [name]: next })
  if (isText) return <Search label={label} value={value ?? ''} onChange={change} />
  if (options) return <Select label={label} anyText={anyText} value={value ?? ''} options={options} onChange={change} />
  if (value === undefined) return null
  return (
    <Button icon="close" label={`Remove the filter ${label}: ${value}`} onClick={() => change(undefined)}>
      {value}
    </Button>
  )
}

/** The word if it is one of those that the API knows. An address may be written by hand. */
export const oneOf = <Word extends string>(words: readonly Word[], given: string | undefined): Word | undefined =>
  words.find((word) => word === given)
