// The view of the log: lines as the gateway writes them, with filters, and a pause.
import { useMemo, useRef, useState } from 'preact/hooks'
import type { Topics } from '../app/live.ts'
import { useApp } from '../app/app.ts'
import type { Location } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { Search, Select } from '../ui/fields.tsx'
import { formatClock, formatExact, plural } from '../ui/format.ts'
import { Json } from '../ui/json.tsx'
import { Badge, Button, Empty, Facts, RecordLink, type Tone } from '../ui/parts.tsx'

type Line = Topics['log']

/** A line with a key, and its text in lower case for the search. */
interface Entry {
  id: number
  line: Line
  text: string
}

/** Older lines are dropped. */
const maxLines = 1_000

const levels = ['debug', 'info', 'warn', 'error'] as const
const tones: Readonly<Record<Line['level'], Tone>> = { debug: 'plain', info: 'info', warn: 'warn', error: 'bad' }

export function Log() {
  const { router, live } = useApp()
  const { query } = router.location.value
  const [entries, setEntries] = useState<readonly Entry[]>([])
  /** The lines that were written during a pause; undefined: there is none. */
  const [held, setHeld] = useState<readonly Entry[]>()
  const nextId = useRef(0)
  useLive('log', (lines) => {
    const added = lines.map((line): Entry => ({ id: nextId.current++, line, text: textOf(line) })).toReversed()
    if (held) setHeld([...added, ...held].slice(0, maxLines))
    else setEntries([...added, ...entries].slice(0, maxLines))
  })
  const togglePause = (): void => {
    if (held) setEntries([...held, ...entries].slice(0, maxLines))
    setHeld(held ? undefined : [])
  }
  const clear = (): void => {
    setEntries([])
    if (held) setHeld([])
  }
  const shown = useMemo(() => entries.filter((entry) => isShown(entry, query)), [entries, query])
  const components = [...new Set(entries.map(({ line }) => line.component))].toSorted()
  return (
    <>
      <Bar query={query} components={components}>
        <Button onClick={togglePause}>{held ? `Continue (${plural(held.length, 'new line')})` : 'Pause'}</Button>
        <Button kind="quiet" onClick={clear}>
          Clear
        </Button>
      </Bar>
      <div class="scroll">
        {shown.length === 0 ? (
          <Empty title={entries.length > 0 ? 'No line matches the filters' : 'Waiting for lines'}>
            {entries.length === 0 && live.state.value === 'connected' && (
              <p>
                Lines appear as the gateway writes them, the newest first. How much it writes is <code>log.level</code>{' '}
                of the configuration.
              </p>
            )}
          </Empty>
        ) : (
          <ul class="rows log" aria-label="Lines">
            {shown.map((entry) => (
              <LogLine key={entry.id} line={entry.line} />
            ))}
          </ul>
        )}
      </div>
    </>
  )
}

const textOf = ({ component, message, fields }: Line): string =>
  `${component} ${message} ${JSON.stringify(fields)}`.toLowerCase()

function isShown({ line, text }: Entry, { level, component, q }: Location['query']): boolean {
  const least = levels.findIndex((one) => one === level)
  return (
    levels.indexOf(line.level) >= least &&
    (component === undefined || component === line.component) &&
    (q === undefined || text.includes(q.toLowerCase()))
  )
}

interface BarProps {
  query: Location['query']
  components: readonly string[]
  children: preact.ComponentChildren
}

function Bar({ query, components, children }: BarProps) {
  const { router } = useApp()
  const { component } = query
  const known = component === undefined || components.includes(component) ? components : [...components, component]
  return (
    <header class="bar">
      <h1>Log</h1>
      <Select
        label="Level"
        anyText="All levels"
        value={query['level'] ?? ''}
        options={levels.slice(1).map((level) => [level, level === 'error' ? 'error' : `${level} and above`])}
        onChange={(level) => router.filter({ level })}
      />
      <Select
        label="Component"
        anyText="All components"
        value={component ?? ''}
        options={known.map((name) => [name, name])}
        onChange={(component) => router.filter({ component })}
      />
      <Search label="Search in lines" value={query['q'] ?? ''} onChange={(q) => router.filter({ q })} />
      {children}
    </header>
  )
}

/** A line never changes, so it is rendered once. */
function LogLine({ line }: { line: Line }) {
  const [isOpen, setOpen] = useState(false)
  return useMemo(() => {
    const { at, level, component, message, fields } = line
    const ms = Date.parse(at)
    return (
      <li>
        <details class="log-line" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
          <summary>
            <time dateTime={at} title={formatExact(ms)}>
              {formatClock(ms)}
            </time>
            <Badge tone={tones[level] ?? 'plain'}>{level}</Badge>
            <span class="muted">{component}</span>
            <span class="break">
              {message} {!isOpen && <span class="muted">{formatFields(fields)}</span>}
            </span>
          </summary>
          {isOpen && (
            <>
              <Records fields={fields} />
              <Json value={fields} label="Fields" />
            </>
          )}
        </details>
      </li>
    )
  }, [line, isOpen])
}

/** The views of the records that lines name. */
const recordViews = { runId: 'runs', requestId: 'requests', sessionKey: 'sessions' } as const

function Records({ fields }: { fields: object }) {
  const links = Object.entries(recordViews).flatMap(([key, view]) => {
    const id = (fields as Readonly<Record<string, unknown>>)[key]
    return typeof id === 'string' ? [[view, <RecordLink key={key} view={view} id={id} />] as const] : []
  })
  return links.length === 0 ? null : <Facts of={links} />
}

/** Long fields are shown when the line is opened. */
const maxField = 120

const formatFields = (fields: object): string =>
  Object.entries(fields)
    .map(([key, value]) => `${key}=${clip(typeof value === 'string' ? value : JSON.stringify(value))}`)
    .join(' ')

const clip = (text: string): string => (text.length > maxField ? `${text.slice(0, maxField)}…` : text)
