// The view of the configuration: the file in an editor, a form for each section beside it, and what is wrong with it.
import JSON5 from 'json5'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useKept } from '../app/kept.ts'
import { type Loaded, useLoaded } from '../app/pages.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Badge, Button, Empty, Loading, Notice, Section } from '../ui/parts.tsx'
import { type Problem, Sentence } from '../ui/problems.tsx'
import { SaveConfig, type StoredFile } from '../ui/save-config.tsx'
import { type Checked, useCheck } from './check.ts'
import type { Editor } from './editor.ts'
import { ConfigForm } from './form.tsx'
import { describeDefault, formatPath, type Schema, schemaAt } from './schema.ts'
import { loadEditor, TextEditor } from './text-editor.tsx'

type File = Reply<'GET /api/config/file'>

export function Configuration() {
  const { call } = useApp()
  const file = useLoaded('configuration file', () => call('GET /api/config/file'))
  const schema = useLoaded('configuration schema', () => call('GET /api/config/schema'))
  // The editor is loaded while the gateway reads the file. If that fails, the editor says so.
  useEffect(() => void loadEditor().catch(() => undefined), [])
  const [current, root] = [file.value.value, schema.value.value]
  if (current && root) return <Workspace file={file} current={current} schema={root} />
  return (
    <>
      <header class="bar">
        <h1>Configuration</h1>
      </header>
      {file.state.value === 'loading' || (current && schema.state.value === 'loading') ? (
        <Loading />
      ) : (
        <Empty title="The configuration cannot be shown">
          <p>{file.error.value ?? schema.error.value}</p>
        </Empty>
      )}
    </>
  )
}

interface WorkspaceProps {
  file: Loaded<File>
  current: File
  schema: Schema
}

/** What the reader writes, and the file that it is based on. */
interface Draft {
  base: StoredFile
  text: string
}

function Workspace({ file, current, schema }: WorkspaceProps) {
  const { call, router } = useApp()
  const [draft, setDraft] = useKept<Draft>('config', { base: current, text: current.text })
  const [place, setPlace] = useState<readonly string[]>([])
  const [open, setOpen] = useState<'save' | 'drop'>()
  const editor = useRef<Editor>(undefined)
  const latest = useRef(draft)
  latest.current = draft
  const { checked, problem } = useCheck(draft.text)
  const document = useMemo(() => parse(draft.text), [draft.text])
  const isChanged = draft.text !== draft.base.text
  const set = (changes: Partial<Draft>): void => {
    latest.current = { ...latest.current, ...changes }
    setDraft(latest.current)
  }
  /** Changes the text from outside of the editor, which may not be there yet. */
  const replace = (changes: Partial<Draft> & { text: string }): void => {
    set(changes)
    editor.current?.setText(changes.text)
  }
  const load = (base: StoredFile): void => replace({ base, text: base.text })
  // A file that changes while nothing is written is shown as it is.
  useEffect(() => {
    if (!isChanged && current.etag !== draft.base.etag) load(current)
  }, [current.etag])
  useWarningBeforeUnload(isChanged)

  // One after another: each edit is made in the text of the one before it.
  const edits = useRef<Promise<unknown>>(Promise.resolve())
  const edit = (path: readonly string[], value: unknown): Promise<void> => {
    const make = async (): Promise<void> => {
      const edits = [{ path: [...path], ...(value !== undefined && { value }) }]
      const reply = await call('POST /api/config/edit', { body: { text: latest.current.text, edits } })
      replace({ text: reply.text })
    }
    const made = edits.current.then(make)
    edits.current = made.catch(() => undefined)
    return made
  }
  const isReadOnly = !current.isWritable
  return (
    <>
      <header class="bar">
        <h1>Configuration</h1>
        <span class="muted small mono clip">{current.file}</span>
        {isChanged && <Badge tone="warn">not saved</Badge>}
        {isChanged && <Button onClick={() => setOpen('drop')}>Drop my changes</Button>}
        <Button kind="primary" disabled={!isChanged || isReadOnly} onClick={() => setOpen('save')}>
          Save…
        </Button>
      </header>
      <div class="config">
        <div class="config-text">
          <Notices
            problem={problem}
            isReadOnly={isReadOnly}
            isOutdated={isChanged && current.etag !== draft.base.etag}
          />
          <TextEditor
            text={draft.text}
            schema={schema}
            checked={checked}
            isReadOnly={isReadOnly}
            onChange={(text) => set({ text })}
            onPlace={setPlace}
            onReady={(ready) => void (editor.current = ready)}
          />
          <AtCursor path={place} schema={schemaAt(schema, place, document)} />
        </div>
        <div class="config-side">
          <Problems checked={checked} onGo={({ line = 1, column = 1 }) => editor.current?.goToLine(line, column)} />
          <Section title="Form">
            {document === undefined ? (
              <p class="muted">The form is here again when the text is valid JSON5.</p>
            ) : (
              <ConfigForm
                schema={schema}
                document={document}
                section={router.location.value.query['section'] ?? place[0] ?? ''}
                onSection={(section) => router.filter({ section })}
                checked={checked}
                isReadOnly={isReadOnly}
                onEdit={edit}
                onGo={(path) => editor.current?.goToKey(path)}
              />
            )}
          </Section>
        </div>
      </div>
      {open === 'save' && (
        <SaveConfig
          title="Save the configuration"
          base={draft.base}
          change={() => draft.text}
          onSaved={(saved) => {
            file.set({ ...current, ...saved })
            load(saved)
          }}
          onDiscard={load}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === 'drop' && (
        <Confirm
          title="Drop the changes"
          text="The text becomes that of the file again."
          action="Drop my changes"
          onConfirm={async () => load(current)}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  )
}

/** Undefined while the text is not valid. */
function parse(text: string): unknown {
  try {
    return JSON5.parse<unknown>(text)
  } catch {
    return undefined
  }
}

/** The browser asks before it closes the tab. Other views of the page keep what is written. */
function useWarningBeforeUnload(isChanged: boolean): void {
  useEffect(() => {
    if (!isChanged) return undefined
    const ask = (event: BeforeUnloadEvent): void => event.preventDefault()
    addEventListener('beforeunload', ask)
    return () => removeEventListener('beforeunload', ask)
  }, [isChanged])
}

interface NoticesProps {
  /** Why the text could not be checked. */
  problem: string | undefined
  isReadOnly: boolean
  isOutdated: boolean
}

function Notices({ problem, isReadOnly, isOutdated }: NoticesProps) {
  return (
    <>
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      {isReadOnly && <Notice tone="warn">The gateway may not write this file, so you can only read it here.</Notice>}
      {isOutdated && (
        <Notice tone="warn">The file has changed since you began to write. Save shows both before it saves.</Notice>
      )}
    </>
  )
}

/** The description of the key at the cursor, also for those who use no pointer. */
function AtCursor({ path, schema }: { path: readonly string[]; schema: Schema | undefined }) {
  const fallback = describeDefault(schema)
  return (
    <footer class="config-foot small">
      {path.length > 0 && (
        <p>
          <code>{formatPath(path)}</code> <span class="muted">{schema?.description}</span>
          {fallback !== undefined && <span class="muted">{` Default: ${fallback}.`}</span>}
        </p>
      )}
      <p class="muted">
        <kbd>Ctrl</kbd> <kbd>Space</kbd> completes. <kbd>Tab</kbd> indents. <kbd>Escape</kbd>, then <kbd>Tab</kbd>,
        leaves the editor.
      </p>
    </footer>
  )
}

function Problems({ checked, onGo }: { checked: Checked | undefined; onGo(problem: Problem): void }) {
  const { problems = [], warnings = [] } = checked ?? {}
  const verdict =
    checked === undefined ? null : problems.length > 0 ? (
      <Badge tone="bad">has problems</Badge>
    ) : (
      <Badge tone="good">valid</Badge>
    )
  return (
    <Section title="Problems" action={verdict}>
      <div class="stack problems" aria-live="polite">
        {checked && problems.length + warnings.length === 0 && <p class="muted small">There are none.</p>}
        {problems.map((one) => (
          <Place key={one.path + one.problem} problem={one} tone="bad" onGo={onGo} />
        ))}
        {warnings.map((one) => (
          <Place key={one.path + one.problem} problem={one} tone="warn" onGo={onGo} />
        ))}
      </div>
    </Section>
  )
}

interface PlaceProps {
  problem: Problem
  tone: 'bad' | 'warn'
  onGo(problem: Problem): void
}

function Place({ problem, tone, onGo }: PlaceProps) {
  return (
    <div class={`notice ${tone}`}>
      <div class="grow">
        <Sentence of={problem} />
      </div>
      <Button kind="quiet" onClick={() => onGo(problem)}>
        {`Line ${problem.line ?? 1}`}
      </Button>
    </div>
  )
}
