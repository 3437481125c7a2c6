// The fields of a mapping, each with its problems.
import { useId, useRef } from 'preact/hooks'
import { Field, Select } from '../ui/fields.tsx'
import { Button, Section } from '../ui/parts.tsx'
import { useLoaded } from '../app/pages.ts'
import { useApp } from '../app/app.ts'
import { type Condition, type Draft, templateKey, tests } from './draft.ts'
import type { Preview } from './preview.ts'

interface MappingFormProps {
  draft: Draft
  /** Paths in the payload, for completion. */
  paths: readonly string[]
  preview: Preview | undefined
  onChange(draft: Draft): void
}

export function MappingForm({ draft, paths, preview, onChange }: MappingFormProps) {
  const template = useRef<HTMLTextAreaElement>(null)
  const change = (changes: Partial<Draft>): void => onChange({ ...draft, ...changes })
  const problemOf = (...keys: string[]): string | undefined => findProblem(preview, keys)
  const { id, path, action, sessionKey, more } = draft
  const insert = (inserted: string): void => {
    const { selectionStart = draft.template.length, selectionEnd = selectionStart } = template.current ?? {}
    const text = `{{${inserted}}}`
    change({ template: draft.template.slice(0, selectionStart) + text + draft.template.slice(selectionEnd) })
    template.current?.focus()
  }
  return (
    <Section title="Mapping">
      <div class="workbench-names">
        <TextField
          label="Hook"
          hint="The last part of the address."
          value={path}
          problem={problemOf('match.path')}
          onChange={(value) => change({ path: value })}
        />
        <TextField
          label="Id"
          hint="Its name in the log."
          value={id}
          problem={problemOf('id')}
          onChange={(value) => change({ id: value })}
        />
      </div>
      <Conditions
        conditions={draft.conditions}
        paths={paths}
        preview={preview}
        onChange={(conditions) => change({ conditions })}
      />
      <div class="line">
        <span>Action</span>
        <Select
          label="Action"
          value={action}
          options={[
            ['agent', 'start a run of the agent'],
            ['wake', 'add an event for the next run'],
          ]}
          onChange={(value) => change({ action: value === 'wake' ? 'wake' : 'agent' })}
        />
      </div>
      <Field
        label={action === 'wake' ? 'Text' : 'Message'}
        problem={problemOf(templateKey(action))}
        hint={
          <>
            A template: <code>{'{{issue.title}}'}</code> is a value of the payload.
          </>
        }
      >
        {(fieldId) => (
          <textarea
            id={fieldId}
            ref={template}
            class="input mono"
            spellcheck={false}
            value={draft.template}
            onInput={({ currentTarget }) => change({ template: currentTarget.value })}
          />
        )}
      </Field>
      {paths.length > 0 && (
        <Select
          key={draft.template}
          label="Insert a value of the payload"
          anyText="Insert a value of the payload"
          value=""
          options={paths.map((one) => [one, one])}
          onChange={insert}
        />
      )}
      <TransformFields draft={draft} preview={preview} onChange={change} />
      <TextField
        label="Session"
        hint="Requests with the same key share a conversation. Empty: each has its own."
        value={sessionKey}
        problem={problemOf('sessionKey')}
        onChange={(value) => change({ sessionKey: value })}
      />
      <Field
        label="Further keys"
        problem={otherProblems(preview, action)}
        hint={
          <>
            JSON5, such as <code>{"deliver: false, forEach: 'payload.items'"}</code>.
          </>
        }
      >
        {(fieldId) => (
          <textarea
            id={fieldId}
            class="input mono small-area"
            spellcheck={false}
            value={more}
            onInput={({ currentTarget }) => change({ more: currentTarget.value })}
          />
        )}
      </Field>
    </Section>
  )
}

/** The keys that have a field of their own. */
const ownKeys = ['id', 'match.path', 'sessionKey', 'transform', 'transform.module', 'transform.export']

const isConditionKey = (path: string): boolean => /^match\.(?:payload|headers)\b/.test(path)

function findProblem(preview: Preview | undefined, keys: readonly string[]): string | undefined {
  const found = [...(preview?.problems ?? []), ...(preview?.warnings ?? [])].filter(({ path }) => keys.includes(path))
  return found.length === 0 ? undefined : `It ${found.map(({ problem }) => problem).join('; it ')}.`
}

/** The problems of keys without a field of their own, and of the mapping as a whole. */
function otherProblems(preview: Preview | undefined, action: Draft['action']): string | undefined {
  const known = new Set([...ownKeys, templateKey(action)])
  const found = (preview?.problems ?? []).filter(({ path }) => !known.has(path) && !isConditionKey(path))
  return found.length === 0
    ? undefined
    : found.map(({ path, line, problem }) => `${path || `Line ${line ?? 1},`} ${problem}.`).join(' ')
}

interface TransformFieldsProps {
  draft: Draft
  preview: Preview | undefined
  onChange(changes: Partial<Draft>): void
}

/** Chooses a file of the transforms directory, and shows why it fails. */
function TransformFields({ draft: { transform, transformExport }, preview, onChange }: TransformFieldsProps) {
  const { call } = useApp()
  const transforms = useLoaded('transforms', () => call('GET /api/transforms'))
  const modules = transforms.value.value?.items.map(({ module }) => module) ?? []
  return (
    <>
      <Field
        label="Transform"
        hint="A file of the transforms directory, which may change the action. It runs in the sandbox."
        problem={findProblem(preview, ['transform', 'transform.module']) ?? transformError(preview)}
      >
        {(id) => (
          <select
            id={id}
            class="input"
            value={transform}
            onChange={({ currentTarget }) => onChange({ transform: currentTarget.value })}
          >
            <option value="">None</option>
            {modules.map((module) => (
              <option key={module} value={module}>
                {module}
              </option>
            ))}
          </select>
        )}
      </Field>
      {transform !== '' && (
        <TextField
          label="Function"
          hint="The export that is called. Empty: the default export."
          value={transformExport}
          problem={findProblem(preview, ['transform.export'])}
          onChange={(value) => onChange({ transformExport: value })}
        />
      )}
    </>
  )
}

/** With the line, where there is one, and what the transform threw. */
function transformError(preview: Preview | undefined): string | undefined {
  if (preview?.error?.type !== 'transform_failed') return undefined
  const { message, detail } = preview.error
  return detail === undefined || message.includes(detail) ? message : `${message} ${detail}`
}

interface TextFieldProps {
  label: string
  hint: string
  value: string
  problem: string | undefined
  onChange(value: string): void
}

const TextField = ({ label, hint, value, problem, onChange }: TextFieldProps) => (
  <Field label={label} hint={hint} problem={problem}>
    {(id) => (
      <input
        id={id}
        class="input"
        spellcheck={false}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    )}
  </Field>
)

interface ConditionsProps extends Pick<MappingFormProps, 'paths' | 'preview'> {
  conditions: readonly Condition[]
  onChange(conditions: readonly Condition[]): void
}

function Conditions({ conditions, paths, preview, onChange }: ConditionsProps) {
  const listId = useId()
  const add = (): void => onChange([...conditions, { part: 'payload', key: '', test: 'equals', value: '' }])
  const problems = (preview?.problems ?? []).filter(({ path }) => isConditionKey(path))
  return (
    <fieldset class="conditions">
      <legend>Conditions</legend>
      {conditions.length === 0 && <p class="muted small">None: every request of this hook matches.</p>}
      {conditions.map((condition, index) => (
        <ConditionRow
          key={index}
          number={index + 1}
          condition={condition}
          listId={listId}
          isUnmet={isUnmet(preview, condition)}
          onChange={(changed) => onChange(conditions.with(index, changed))}
          onRemove={() => onChange(conditions.toSpliced(index, 1))}
        />
      ))}
      <datalist id={listId}>
        {paths.map((path) => (
          <option key={path} value={path} />
        ))}
      </datalist>
      {problems.map(({ path, problem }) => (
        <span class="problem" role="alert" key={path}>
          {path} {problem}.
        </span>
      ))}
      <div>
        <Button icon="plus" onClick={add}>
          Add a condition
        </Button>
      </div>
    </fieldset>
  )
}

const isUnmet = (preview: Preview | undefined, { part, key }: Condition): boolean =>
  preview?.unmet?.includes(`match.${part}["${key}"]`) ?? false

interface ConditionRowProps {
  number: number
  condition: Condition
  listId: string
  isUnmet: boolean
  onChange(condition: Condition): void
  onRemove(): void
}

const names: Partial<Record<Condition['test'], string>> = {
  not: 'is not',
  in: 'is one of',
  startsWith: 'starts with',
  endsWith: 'ends with',
  matches: 'matches the pattern',
}

function ConditionRow({ number, condition, listId, isUnmet, onChange, onRemove }: ConditionRowProps) {
  const { part, key, test, value } = condition
  return (
    <div class={`condition${isUnmet ? ' unmet' : ''}`}>
      <Select
        label={`Where, condition ${number}`}
        value={part}
        options={[
          ['payload', 'payload'],
          ['headers', 'header'],
        ]}
        onChange={(next) => onChange({ ...condition, part: next === 'headers' ? 'headers' : 'payload' })}
      />
      <input
        class="input mono"
        aria-label={`Name, condition ${number}`}
        spellcheck={false}
        value={key}
        placeholder={part === 'payload' ? 'issue.state' : 'x-event'}
        list={part === 'payload' ? listId : undefined}
        onInput={({ currentTarget }) => onChange({ ...condition, key: currentTarget.value })}
      />
      <Select
        label={`Test, condition ${number}`}
        value={test}
        options={tests.map((one) => [one, names[one] ?? one])}
        onChange={(next) => onChange({ ...condition, test: tests.find((one) => one === next) ?? 'equals' })}
      />
      <input
        class="input mono"
        aria-label={`Value, condition ${number}`}
        spellcheck={false}
        value={value}
        placeholder={test === 'exists' ? 'true' : test === 'in' ? 'open, closed' : 'open'}
        onInput={({ currentTarget }) => onChange({ ...condition, value: currentTarget.value })}
      />
      <Button kind="quiet" icon="close" label={`Remove condition ${number}`} onClick={onRemove} />
      {isUnmet && <span class="problem">It does not hold for this request.</span>}
    </div>
  )
}
