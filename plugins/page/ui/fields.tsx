// Form fields with their labels, and the filters of lists.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

interface FieldProps {
  label: string
  hint?: ComponentChildren
  problem?: string | undefined
  children(id: string): ComponentChildren
}

export function Field({ label, hint, problem, children }: FieldProps) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
      {hint && <span class="hint">{hint}</span>}
      {problem && (
        <span class="problem" role="alert">
          {problem}
        </span>
      )}
    </div>
  )
}

export interface SelectProps {
  /** The accessible name. */
  label: string
  value: string
  /** The text of the choice that sets no filter. Absent: there is none. */
  anyText?: string
  options: readonly (string | readonly [value: string, text: string])[]
  onChange(value: string): void
}

/** A list of choices, as a filter. A value that is no choice, such as one that was in use before, is one as well. */
export function Select({ label, value, anyText, options, onChange }: SelectProps) {
  const choices = options.map((option) => (typeof option === 'string' ? textOf(option) : option))
  const isKnown = value === '' || choices.some(([key]) => key === value)
  return (
    <select
      class="input"
      aria-label={label}
      value={value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      {anyText !== undefined && <option value="">{anyText}</option>}
      {(isKnown ? choices : [...choices, [value, value] as const]).map(([key, text]) => (
        <option key={key} value={key}>
          {text}
        </option>
      ))}
    </select>
  )
}

/** Names as choices. Words are written with spaces, names as they are. */
export const asNames = (names: Iterable<string>) => Array.from(names, (name) => [name, name] as const)

const textOf = (word: string) => [word, word.replaceAll('_', ' ')] as const

interface SearchProps {
  label: string
  value: string
  onChange(value: string): void
}

/** How long after the last letter a search begins. */
const typingMs = 250

/** A search field. The key `/` moves the focus to it. */
export function Search({ label, value, onChange }: SearchProps) {
  const [text, setText] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const change = (next: string): void => {
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      timer.current = undefined
      onChange(next.trim())
    }, typingMs)
  }
  // The spaces of what is being typed are kept. Any other value has come from elsewhere, such as a link.
  const isOwn = timer.current !== undefined || text.trim() === value
  return (
    <input
      class="input search"
      type="search"
      data-search
      aria-label={label}
      placeholder={label}
      value={isOwn ? text : value}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  )
}
