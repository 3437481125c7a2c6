// The small parts that all views are made of: buttons, badges, times, notices, sections.
import { computed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { messageOf, useApp } from '../app/app.ts'
import type { Loaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { copyText } from './copy.ts'
import { formatAge, formatExact } from './format.ts'
import { Icon, type IconName } from './icons.tsx'

export type Tone = 'good' | 'bad' | 'warn' | 'info' | 'plain'

interface ButtonProps {
  children?: ComponentChildren
  kind?: 'primary' | 'danger' | 'quiet' | 'plain'
  icon?: IconName
  /** The accessible name of a button without text; it is also its tooltip. */
  label?: string
  disabled?: boolean
  type?: 'button' | 'submit'
  /** A failed promise is shown as a message. The button is busy until it settles. */
  onClick?: () => unknown
}

export function Button({ children, kind = 'plain', icon, label, disabled, type = 'button', onClick }: ButtonProps) {
  const { toasts } = useApp()
  const [isBusy, setBusy] = useState(false)
  const click = async (): Promise<void> => {
    if (isBusy || !onClick) return
    const work = onClick()
    if (!(work instanceof Promise)) return
    setBusy(true)
    try {
      await work
    } catch (error) {
      toasts.show({ text: messageOf(error), tone: 'bad' })
    } finally {
      setBusy(false)
    }
  }
  return (
    <button
      type={type}
      class={`button ${kind}${children === undefined ? ' icon' : ''}`}
      disabled={disabled}
      aria-busy={isBusy}
      aria-label={label}
      title={label}
      onClick={() => void click()}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  )
}

export function Badge({ tone = 'plain', dot = false, children }: { tone?: Tone; dot?: boolean; children: string }) {
  return (
    <span class={`badge ${tone}`}>
      {dot && <span class="dot" />}
      {children}
    </span>
  )
}

/** The tones of the statuses of requests, runs, steps, deliveries, channels, approvals and entries of the audit log. */
const tones: Readonly<Record<string, Tone>> = {
  accepted: 'good',
  rejected: 'bad',
  failed: 'bad',
  duplicate: 'plain',
  skipped: 'plain',
  queued: 'info',
  running: 'info',
  waiting: 'warn',
  succeeded: 'good',
  completed: 'good',
  cancelled: 'plain',
  timed_out: 'bad',
  pending: 'info',
  sending: 'info',
  sent: 'good',
  unknown: 'warn',
  refused: 'warn',
  interrupted: 'warn',
  connected: 'good',
  connecting: 'info',
  standby: 'plain',
  failing: 'bad',
  unauthorized: 'bad',
  login_required: 'warn',
  open: 'good',
  ready: 'good',
  loading: 'info',
  allow: 'good',
  ask: 'warn',
  deny: 'bad',
  approved: 'good',
  denied: 'bad',
  expired: 'bad',
  done: 'good',
}

export const toneOf = (status: string): Tone => (Object.hasOwn(tones, status) ? (tones[status] ?? 'plain') : 'plain')

export function Status({ of }: { of: string }) {
  return (
    <Badge tone={toneOf(of)} dot>
      {of.replaceAll('_', ' ')}
    </Badge>
  )
}

/** A time, relative to now. The exact time is its tooltip. */
export function Time({ at }: { at: string }) {
  const { now } = useApp()
  const ms = Date.parse(at)
  // A list has hundreds of them. The signal changes only the texts that differ, without rendering anything again.
  const age = useMemo(() => computed(() => formatAge(ms, Math.max(now.value, Date.now()))), [ms])
  return (
    <time dateTime={at} onPointerEnter={({ currentTarget }) => void (currentTarget.title = formatExact(ms))}>
      {age}
    </time>
  )
}

export function Notice({ tone = 'info', children }: { tone?: Tone; children: ComponentChildren }) {
  return (
    <div class={`notice ${tone}`} role={tone === 'bad' ? 'alert' : undefined}>
      <Icon name={tone === 'bad' || tone === 'warn' ? 'warning' : 'info'} />
      <div>{children}</div>
    </div>
  )
}

/** Shown in the place of contents that the role of the reader does not include. */
export const hiddenText = 'Your role does not show what was said.'

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  )
}

export function Loading() {
  return (
    <div class="loading" role="status" aria-label="Loading">
      <div class="spinner" />
    </div>
  )
}

interface LoadingOfProps<Value> {
  of: Loaded<Value>
  /** What is loaded, as the subject of a sentence, such as `The hooks`. */
  what: string
  /** Shown above the reason when it could not be loaded. */
  head?: ComponentChildren
  children(value: Value): ComponentChildren
}

/** What was loaded; until then a spinner, or why it could not be loaded. */
export function LoadingOf<Value>({ of, what, head, children }: LoadingOfProps<Value>) {
  const value = of.value.value
  if (value !== undefined) return <>{children(value)}</>
  if (of.state.value === 'loading') return <Loading />
  return (
    <>
      {head}
      <Empty title={`${what} could not be loaded`}>
        <p>{of.error.value}</p>
        <Button onClick={of.reload}>Try again</Button>
      </Empty>
    </>
  )
}

/** A link to a record, by its id. */
export const RecordLink = ({ view, id }: { view: string; id: string }) => (
  <a class="mono" href={formatFragment({ view, item: id })}>
    {id}
  </a>
)

interface SectionProps {
  title: string
  /** A control at the end of the title's line. */
  action?: ComponentChildren
  children: ComponentChildren
}

export function Section({ title, action, children }: SectionProps) {
  return (
    <section class="section" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {action}
      </header>
      {children}
    </section>
  )
}

/** Names with values. Pairs without a value are left out. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of.map(([name, value]) =>
        value === undefined || value === null || value === false || value === '' ? null : (
          <>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </>
        ),
      )}
    </dl>
  )
}

/** A few numbers that matter, side by side. */
export function Tiles({ of }: { of: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="tiles">
      {of.map(([name, value]) => (
        <div class="tile" key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

export function CopyButton({ text, label = 'Copy' }: { text: string | (() => string); label?: string }) {
  const { toasts } = useApp()
  const copy = async (): Promise<void> => {
    await copyText(typeof text === 'string' ? text : text())
    toasts.show({ text: 'Copied to the clipboard.', tone: 'good' })
  }
  return <Button kind="quiet" icon="copy" label={label} onClick={copy} />
}

/** A text as it is, with a button that copies it. */
interface CodeProps {
  /** Undefined: the role of the reader does not show it. */
  text: string | undefined
  label: string
  isProse?: boolean
}

export function Code({ text, label, isProse = false }: CodeProps) {
  if (text === undefined) return <p class="muted">{hiddenText}</p>
  return (
    <div class="code">
      {/* It scrolls, so the keyboard must reach it. */}
      <pre class={isProse ? 'prose' : undefined} tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <div class="copy">
        <CopyButton text={text} label={`Copy ${label.toLowerCase()}`} />
      </div>
    </div>
  )
}
