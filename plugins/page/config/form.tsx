// A form for a section of the configuration, from its schema. Each change is made in the text, which keeps its comments.
import { useState } from 'preact/hooks'
import { Field, Select } from '../ui/fields.tsx'
import { Button } from '../ui/parts.tsx'
import { Control, type FormContext } from './controls.tsx'
import { childOf, entrySchemaOf, formatPath, isRecord, propertiesOf, type Schema } from './schema.ts'
import { isGroup } from './kinds.ts'

interface ConfigFormProps extends FormContext {
  schema: Schema
  document: unknown
  section: string
  onSection(section: string): void
}

export function ConfigForm({ schema, document, section, onSection, ...context }: ConfigFormProps) {
  const sections = propertiesOf(schema, document)
  const name = sections.has(section) ? section : ([...sections.keys()][0] ?? '')
  const chosen = sections.get(name)
  const value = childOf(document, name)
  return (
    <>
      <Select
        label="Section"
        value={name}
        options={Array.from(sections.keys(), (one) => [one, one] as const)}
        onChange={onSection}
      />
      {chosen && isGroup(chosen) ? (
        <>
          <p class="muted small">{chosen.description}</p>
          <Members key={name} path={[name]} schema={chosen} value={value} context={context} />
        </>
      ) : (
        chosen && <Member key={name} path={[name]} schema={chosen} value={value} context={context} />
      )}
    </>
  )
}

interface MemberProps {
  path: readonly string[]
  schema: Schema
  value: unknown
  context: FormContext
}

/** The keys of an object: those that the schema names, and entries under names of the reader's own. */
function Members({ path, schema, value, context }: MemberProps) {
  const properties = propertiesOf(schema, value)
  const entrySchema = entrySchemaOf(schema, value)
  const entries = isRecord(value) ? Object.keys(value).filter((key) => !properties.has(key)) : []
  return (
    <div class="stack">
      {fieldsFirst(properties).map(([key, child]) => (
        <Member key={key} path={[...path, key]} schema={child} value={childOf(value, key)} context={context} />
      ))}
      {entrySchema &&
        entries.map((key) => (
          <Member key={key} path={[...path, key]} schema={entrySchema} value={childOf(value, key)} context={context} />
        ))}
      {entrySchema && <AddEntry path={path} schema={entrySchema} known={value} context={context} />}
    </div>
  )
}

/** Some sections have dozens of groups. */
const fieldsFirst = (properties: ReadonlyMap<string, Schema>): (readonly [string, Schema])[] =>
  [...properties].toSorted(([, one], [, other]) => Number(isGroup(one)) - Number(isGroup(other)))

function Member(props: MemberProps) {
  const { path, schema, value, context } = props
  if (isGroup(schema)) return <Group {...props} />
  const problems = problemsAt(path, context)
  return (
    <Field label={path.at(-1) ?? ''} hint={schema.description} problem={problems}>
      {(id) => <Control id={id} path={path} schema={schema} value={value} context={context} />}
    </Field>
  )
}

/** What is inside is rendered when it is opened: some sections have hundreds of keys. */
function Group({ path, schema, value, context }: MemberProps) {
  const [isOpen, setOpen] = useState(false)
  const count = isRecord(value) ? Object.keys(value).length : 0
  const problem = problemsAt(path, context)
  return (
    <details class="group" open={isOpen} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        {path.at(-1)} <span class="muted small">{count === 0 ? '' : `${count} set`}</span>
      </summary>
      {isOpen && (
        <div class="stack">
          <p class="muted small">{schema.description}</p>
          {problem && (
            <p class="problem small" role="alert">
              {problem}
            </p>
          )}
          <Members path={path} schema={schema} value={value} context={context} />
          {value !== undefined && (
            <div>
              <Button kind="danger" disabled={context.isReadOnly} onClick={() => context.onEdit(path, undefined)}>
                {`Remove ${formatPath(path)}`}
              </Button>
            </div>
          )}
        </div>
      )}
    </details>
  )
}

/** The problems and warnings of a key, as one text. */
function problemsAt(path: readonly string[], { checked }: FormContext): string | undefined {
  const key = formatPath(path)
  const found = [...(checked?.problems ?? []), ...(checked?.warnings ?? [])].filter((one) => one.path === key)
  return found.length === 0 ? undefined : `It ${found.map(({ problem }) => problem).join('; it ')}.`
}

function AddEntry({ path, schema, known, context }: Omit<MemberProps, 'value'> & { known: unknown }) {
  const [name, setName] = useState('')
  const isTaken = isRecord(known) && Object.hasOwn(known, name)
  const add = async (): Promise<void> => {
    await context.onEdit([...path, name], isGroup(schema) ? {} : '')
    setName('')
  }
  return (
    <form
      class="line"
      onSubmit={(event) => {
        event.preventDefault()
        if (name !== '' && !isTaken) void add()
      }}
    >
      <input
        class="input add-name"
        aria-label={`Name of a new entry of ${formatPath(path)}`}
        placeholder="Name"
        spellcheck={false}
        value={name}
        disabled={context.isReadOnly}
        onInput={({ currentTarget }) => setName(currentTarget.value.trim())}
      />
      <Button type="submit" icon="plus" disabled={context.isReadOnly || name === '' || isTaken}>
        {`Add to ${formatPath(path)}`}
      </Button>
    </form>
  )
}
