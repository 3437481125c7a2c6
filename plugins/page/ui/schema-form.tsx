// A form for a JSON Schema: a field for each property of an object, and JSON for what has no simpler field.
import { Field } from './fields.tsx'

export interface Schema {
  type?: string
  title?: string
  description?: string
  properties?: Readonly<Record<string, Schema>>
  required?: readonly string[]
  enum?: readonly unknown[]
  const?: unknown
  default?: unknown
  anyOf?: readonly Schema[]
}

/** What is in the fields: texts, as they are typed. An empty text is no value. */
export type FormTexts = Readonly<Record<string, string>>

interface FormProps {
  schema: Schema
  texts: FormTexts
  onChange(texts: FormTexts): void
  /** What is wrong with fields, by their names. */
  problems: Readonly<Record<string, string>>
}

export function SchemaForm({ schema, texts, onChange, problems }: FormProps) {
  const properties = Object.entries(schema.properties ?? {})
  if (properties.length === 0) return <p class="muted">It takes no arguments.</p>
  return (
    <>
      {properties.map(([name, property]) => (
        <Field
          key={name}
          label={schema.required?.includes(name) ? `${name} (required)` : name}
          hint={property.description}
          problem={problems[name]}
        >
          {(id) => (
            <Input
              id={id}
              schema={property}
              text={texts[name] ?? ''}
              onChange={(text) => onChange({ ...texts, [name]: text })}
            />
          )}
        </Field>
      ))}
    </>
  )
}

interface InputProps {
  id: string
  schema: Schema
  text: string
  onChange(text: string): void
}

function Input({ id, schema, text, onChange }: InputProps) {
  const kind = kindOf(schema)
  if (kind === 'choice')
    return (
      <select id={id} class="input" value={text} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        <option value="">–</option>
        {choicesOf(schema).map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    )
  if (kind === 'number')
    return (
      <input
        id={id}
        class="input"
        inputMode="decimal"
        value={text}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )
  return (
    <textarea
      id={id}
      class={`input short${kind === 'json' ? ' mono' : ''}`}
      rows={kind === 'json' ? 3 : 1}
      placeholder={kind === 'json' ? 'JSON' : undefined}
      value={text}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
    />
  )
}

type Kind = 'text' | 'number' | 'choice' | 'json'

function kindOf(schema: Schema): Kind {
  if (choicesOf(schema).length > 0) return 'choice'
  if (schema.type === 'number' || schema.type === 'integer') return 'number'
  return schema.type === 'string' ? 'text' : 'json'
}

/** The values of an enumeration or of a union of constants, or of a boolean. */
function choicesOf({ type, enum: values, anyOf }: Schema): string[] {
  if (type === 'boolean') return ['true', 'false']
  if (values) return values.filter((value) => typeof value === 'string')
  const constants = (anyOf ?? []).map((one) => one.const)
  return constants.every((value) => typeof value === 'string') ? constants : []
}

export interface FormResult {
  value: Record<string, unknown>
  problems: Record<string, string>
}

/** Converts the texts of a form to the value that they describe. */
export function readForm(schema: Schema, texts: FormTexts): FormResult {
  const result: FormResult = { value: {}, problems: {} }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const text = texts[name] ?? ''
    if (text === '') {
      if (schema.required?.includes(name)) result.problems[name] = 'This field is required.'
      continue
    }
    const read = readText(property, text)
    if ('problem' in read) result.problems[name] = read.problem
    else result.value[name] = read.value
  }
  return result
}

function readText(schema: Schema, text: string): { value: unknown } | { problem: string } {
  const kind = kindOf(schema)
  if (kind === 'text') return { value: text }
  if (kind === 'choice') return { value: schema.type === 'boolean' ? text === 'true' : text }
  if (kind === 'number') {
    const value = Number(text)
    return Number.isFinite(value) ? { value } : { problem: 'Enter a number.' }
  }
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return { problem: 'This is not valid JSON. Write texts with quotes, such as ["a", "b"].' }
  }
}
