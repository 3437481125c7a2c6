// Shows JSON as a tree that can be folded and searched. Everything is shown as text.
import { useMemo, useState } from 'preact/hooks'
import { plural } from './format.ts'
import { Code, CopyButton } from './parts.tsx'

/** How many levels are unfolded at first, and how many entries of a list or object are shown at a time. */
const [openLevels, pageSize] = [3, 100]

/** A body: a tree if it is JSON, otherwise the text. */
export function Body({ text, label }: { text: string; label: string }) {
  const parsed = useMemo(() => parse(text), [text])
  return parsed === undefined ? (
    <Code text={text} label={label} />
  ) : (
    <Json value={parsed.value} text={text} label={label} />
  )
}

function parse(text: string): { value: object } | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { value } : undefined
  } catch {
    return undefined
  }
}

export function Json({ value, text, label }: { value: unknown; text?: string; label: string }) {
  const [search, setSearch] = useState('')
  const [isRaw, setRaw] = useState(false)
  const raw = text ?? JSON.stringify(value, null, 2) ?? ''
  return (
    <div class="code">
      <div class="line json-bar">
        <input
          class="input"
          type="search"
          placeholder="Search"
          aria-label={`Search in ${label.toLowerCase()}`}
          value={search}
          onInput={({ currentTarget }) => setSearch(currentTarget.value)}
        />
        <button type="button" class="button quiet" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          Raw
        </button>
        <CopyButton text={raw} label={`Copy ${label.toLowerCase()}`} />
      </div>
      <div class="json" tabIndex={0} role="group" aria-label={label}>
        {isRaw ? (
          <Highlight text={raw} search={search} />
        ) : (
          <Value value={value} level={0} search={search.toLowerCase()} />
        )}
      </div>
    </div>
  )
}

interface ValueProps {
  value: unknown
  name?: string
  level: number
  /** In lower case. */
  search: string
}

function Value({ value, name, level, search }: ValueProps) {
  const label =
    name === undefined ? null : (
      <span class="key">
        <Highlight text={name} search={search} />:{' '}
      </span>
    )
  if (typeof value === 'object' && value !== null)
    return <Branch value={value} label={label} level={level} search={search} />
  const type = value === null ? 'null' : typeof value
  return (
    <>
      {label}
      <span class={type}>
        <Highlight text={typeof value === 'string' ? JSON.stringify(value) : String(value)} search={search} />
      </span>
    </>
  )
}

interface BranchProps extends Omit<ValueProps, 'name' | 'value'> {
  value: object
  label: preact.ComponentChildren
}

function Branch({ value, label, level, search }: BranchProps) {
  const entries = Object.entries(value)
  const [isOpen, setOpen] = useState(level < openLevels && entries.length <= pageSize)
  const [shown, setShown] = useState(pageSize)
  const isFound = search !== '' && contains(value, search)
  const [start, end] = Array.isArray(value) ? ['[', ']'] : ['{', '}']
  if (entries.length === 0)
    return (
      <>
        {label}
        <span class="null">{`${start}${end}`}</span>
      </>
    )
  const isUnfolded = isOpen || isFound
  return (
    <>
      <button type="button" aria-expanded={isUnfolded} onClick={() => setOpen(!isUnfolded)}>
        {isUnfolded ? '▾ ' : '▸ '}
        {label}
        {start}
        {!isUnfolded && (
          <span class="size">{` ${plural(entries.length, 'entry').replace('entrys', 'entries')} ${end}`}</span>
        )}
      </button>
      {isUnfolded && (
        <>
          <ul>
            {entries.slice(0, shown).map(([key, entry]) => (
              <li key={key}>
                <Value value={entry} {...(!Array.isArray(value) && { name: key })} level={level + 1} search={search} />
              </li>
            ))}
          </ul>
          {entries.length > shown && (
            <button type="button" onClick={() => setShown(shown + pageSize)}>
              {`Show more of ${entries.length}`}
            </button>
          )}
          <div class="size">{end}</div>
        </>
      )}
    </>
  )
}

const contains = (value: object, search: string): boolean => JSON.stringify(value).toLowerCase().includes(search)

/** Marks each occurrence of a text, ignoring case. */
export function Highlight({ text, search }: { text: string; search: string }) {
  if (search === '') return <>{text}</>
  const lower = text.toLowerCase()
  // A letter may have another length in lower case, which would move the marks.
  if (lower.length !== text.length) return <>{text}</>
  const parts: preact.ComponentChildren[] = []
  let at = 0
  for (let found = lower.indexOf(search.toLowerCase()); found !== -1; found = lower.indexOf(search.toLowerCase(), at)) {
    parts.push(text.slice(at, found), <mark>{text.slice(found, found + search.length)}</mark>)
    at = found + search.length
  }
  parts.push(text.slice(at))
  return <>{parts}</>
}
