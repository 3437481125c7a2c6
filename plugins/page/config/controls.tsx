// The controls of the form: each shows a value of the text, and changes it when the reader is done.
import { useState } from 'preact/hooks'
import { plural } from '../ui/format.ts'
import { Button } from '../ui/parts.tsx'
import type { Checked } from './check.ts'
import { kindOf } from './kinds.ts'
import { choicesOf, describeDefault, formatPath, isRecord, type Schema, typesOf } from './schema.ts'

/** What all parts of the form share. */
export interface FormContext {
  checked: Checked | undefined
  isReadOnly: boolean
  /** Changes a key in the text. Undefined removes it. */
  onEdit(path: readonly string[], value: unknown): Promise<void>
  /** Moves to a key in the text. */
  onGo(path: readonly string[]): void
}

interface ControlProps {
  id: string
  path: readonly string[]
  schema: Schema
  /** Undefined: the key is not in the text. */
  value: unknown
  context: FormContext
}

export function Control(props: ControlProps) {
  const { schema, value } = props
  const kind = kindOf(schema)
  if (kind === 'secret') return <Secret {...props} />
  if (kind === 'choice' && isScalar(value)) return <Choice {...props} />
  if (kind === 'lines' && (value === undefined || isTextList(value))) return <Lines {...props} />
  if ((kind === 'text' || kind === 'number') && isScalar(value)) return <TextInput {...props} />
  return <InText {...props} />
}

const isScalar = (value: unknown): boolean => typeof value !== 'object' || value === null
const isTextList = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string' && !one.includes('\n'))

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)

/** The value of an absent key, as far as the schema has one. */
const placeholderOf = (schema: Schema): string => {
  const fallback = describeDefault(schema)
  return fallback === undefined ? 'not set' : `default: ${fallback.replaceAll('"', '')}`
}

function Choice({ id, path, schema, value, context }: ControlProps) {
  const choices = choicesOf(schema)
  const isKnown = value === undefined || choices.some((choice) => choice === value)
  return (
    <select
      id={id}
      class="input"
      disabled={context.isReadOnly}
      value={textOf(value)}
      onChange={({ currentTarget: { value: chosen } }) =>
        void context.onEdit(
          path,
          choices.find((choice) => String(choice) === chosen),
        )
      }
    >
      <option value="">{placeholderOf(schema)}</option>
      {!isKnown && <option value={textOf(value)}>{textOf(value)}</option>}
      {choices.map((choice) => (
        <option key={choice} value={String(choice)}>
          {String(choice)}
        </option>
      ))}
    </select>
  )
}

function TextInput({ id, path, schema, value, context }: ControlProps) {
  const types = typesOf(schema)
  const hasNumbers = types.has('number') || types.has('integer')
  return (
    <Typed text={textOf(value)}>
      {(text, onInput) => (
        <input
          id={id}
          class="input"
          spellcheck={false}
          inputMode={hasNumbers && !types.has('string') ? 'decimal' : undefined}
          placeholder={placeholderOf(schema)}
          disabled={context.isReadOnly}
          value={text}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
          onChange={() => void context.onEdit(path, readScalar(text, hasNumbers))}
        />
      )}
    </Typed>
  )
}

/** What cannot be a number stays a text: the gateway says what is wrong with it. */
function readScalar(text: string, hasNumbers: boolean): string | number | undefined {
  if (text === '') return undefined
  return hasNumbers && /^-?\d+(?:\.\d+)?$/.test(text.trim()) ? Number(text) : text
}

function Lines({ id, path, value, schema, context }: ControlProps) {
  const lines = isTextList(value) ? value : []
  return (
    <Typed text={lines.join('\n')}>
      {(text, onInput) => (
        <textarea
          id={id}
          class="input small-area"
          spellcheck={false}
          placeholder={`${placeholderOf(schema)}; one on each line`}
          disabled={context.isReadOnly}
          value={text}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
          onChange={() => void context.onEdit(path, readLines(text))}
        />
      )}
    </Typed>
  )
}

function readLines(text: string): string[] | undefined {
  const lines = text.split('\n').flatMap((line) => line.trim() || [])
  return lines.length === 0 ? undefined : lines
}

interface TypedProps {
  /** The text of the value. */
  text: string
  children(typed: string, onInput: (typed: string) => void): preact.ComponentChildren
}

/** Keeps what is being typed until the value itself changes. An effect would be late, and undo what is typed before it. */
function Typed({ text, children }: TypedProps) {
  const [typed, setTyped] = useState({ text, insteadOf: text })
  if (typed.insteadOf !== text) setTyped({ text, insteadOf: text })
  const shown = typed.insteadOf === text ? typed.text : text
  return <>{children(shown, (next) => setTyped({ text: next, insteadOf: text }))}</>
}

/** A secret is never shown, only replaced. */
function Secret({ id, path, value, context }: ControlProps) {
  const [typed, setTyped] = useState<string>()
  const name = formatPath(path)
  const save = async (): Promise<void> => {
    await context.onEdit(path, typed)
    setTyped(undefined)
  }
  if (typed === undefined)
    return (
      <div class="line">
        <span id={id} class="small">
          {describeSecret(value)}
        </span>
        <Button
          disabled={context.isReadOnly}
          label={`${value === undefined ? 'Set' : 'Replace'} ${name}`}
          onClick={() => setTyped('')}
        >
          {value === undefined ? 'Set' : 'Replace'}
        </Button>
        {value !== undefined && (
          <Button
            kind="quiet"
            disabled={context.isReadOnly}
            label={`Remove ${name}`}
            onClick={() => context.onEdit(path, undefined)}
          >
            Remove
          </Button>
        )}
      </div>
    )
  return (
    <form
      class="line"
      onSubmit={(event) => {
        event.preventDefault()
        if (typed !== '') void save()
      }}
    >
      <input
        id={id}
        class="input add-name"
        type="password"
        autocomplete="new-password"
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <Button type="submit" disabled={typed === ''}>
        Use it
      </Button>
      <Button kind="quiet" onClick={() => setTyped(undefined)}>
        Go back
      </Button>
    </form>
  )
}

function describeSecret(value: unknown): string {
  if (value === undefined) return 'not set'
  if (isRecord(value) && typeof value['file'] === 'string') return `in the file ${value['file']}`
  const [variable] = typeof value === 'string' ? (/\$\{\w+/.exec(value) ?? []) : []
  return variable === undefined ? 'set' : `from the environment variable ${variable.slice(2)}`
}

/** Lists of objects, and values of several kinds. */
function InText({ id, path, value, context }: ControlProps) {
  return (
    <div class="line" id={id}>
      <span class="small">{describeValue(value)}</span>
      <Button label={`Edit in the text: ${formatPath(path)}`} onClick={() => context.onGo(path)}>
        Edit in the text
      </Button>
    </div>
  )
}

function describeValue(value: unknown): string {
  if (value === undefined) return 'not set'
  if (Array.isArray(value)) return plural(value.length, 'entry').replace(/entrys$/, 'entries')
  return isRecord(value) ? `${Object.keys(value).length} set` : JSON.stringify(value)
}
