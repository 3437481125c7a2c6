// The workbench for mappings: a request on one side, a mapping on the other, and what an agent would read while you type.
import { useMemo, useState } from 'preact/hooks'
import { useApp } from '../app/app.ts'
import { useLoaded } from '../app/pages.ts'
import { Select } from '../ui/fields.tsx'
import { formatClock } from '../ui/format.ts'
import { Notice } from '../ui/parts.tsx'
import type { ImportedCurl } from './curl.ts'
import { type Draft, emptyDraft, formatMapping } from './draft.ts'
import { MappingForm } from './mapping-form.tsx'
import { listPaths } from './payload-paths.ts'
import { usePreview } from './preview.ts'
import { emptyRequest, type GivenRequest, readStored } from './request.ts'
import { RequestForm } from './request-form.tsx'
import { Result } from './result.tsx'

export function Workbench() {
  const { router } = useApp()
  const { item } = router.location.value
  // Another request begins anew; the mapping stays.
  const [draft, setDraft] = useState<Draft>(emptyDraft)
  return (
    <>
      <header class="bar">
        <h1>Mapping workbench</h1>
        <Captured current={item} />
      </header>
      <div class="scroll">
        {item === undefined ? (
          <Bench request={emptyRequest} draft={draft} onDraft={setDraft} />
        ) : (
          <BenchOf key={item} id={item} draft={draft} onDraft={setDraft} />
        )}
      </div>
    </>
  )
}

/** Chooses one of the newest requests. */
function Captured({ current }: { current: string | undefined }) {
  const { call, router } = useApp()
  const requests = useLoaded('captured', () => call('GET /api/requests', { query: { limit: 50 } }))
  const items = requests.value.value?.items ?? []
  const options = items.map(({ id, hook, at }) => [id, `${hook}, ${formatClock(Date.parse(at))}`] as const)
  const isKnown = current === undefined || items.some(({ id }) => id === current)
  return (
    <Select
      label="Captured request"
      anyText="A pasted payload"
      value={current ?? ''}
      options={isKnown ? options : [...options, [current, 'The chosen request']]}
      onChange={(id) => router.go({ view: 'workbench', ...(id !== '' && { item: id }) })}
    />
  )
}

interface BenchProps {
  draft: Draft
  onDraft(draft: Draft): void
}

function BenchOf({ id, ...rest }: BenchProps & { id: string }) {
  const { call } = useApp()
  const request = useLoaded(`request ${id}`, () => call('GET /api/requests/{id}', { path: { id } }))
  const { value } = request.value
  if (request.state.value === 'failed' && !value)
    return (
      <div class="content">
        <Notice tone="bad">{request.error.value}</Notice>
      </div>
    )
  return value ? <Bench request={readStored(value)} {...rest} /> : null
}

function Bench({ request: initial, draft, onDraft }: BenchProps & { request: GivenRequest }) {
  const [request, setRequest] = useState(initial)
  const [notes, setNotes] = useState<readonly string[]>([])
  const [attempt, setAttempt] = useState(1)
  // A mapping for a request of one name begins with that name.
  const shown = draft === emptyDraft ? { ...draft, path: initial.hook } : draft
  const mapping = useMemo(() => formatMapping(shown), [shown])
  const paths = useMemo(() => listPaths(request.body), [request.body])
  const { preview, problem } = usePreview({ mapping, request, attempt })
  const take = (imported: ImportedCurl): void => {
    setRequest(imported.request)
    setNotes(imported.notes)
    onDraft(imported.draft)
  }
  return (
    <div class="content workbench">
      <div class="stack">
        <RequestForm request={request} onChange={setRequest} onImport={take} />
        {notes.length > 0 && (
          <Notice>
            {notes.map((note) => (
              <p key={note}>{withCode(note)}</p>
            ))}
          </Notice>
        )}
      </div>
      <div class="stack">
        <MappingForm draft={shown} paths={paths} preview={preview} onChange={onDraft} />
      </div>
      <div class="stack">
        <Result mapping={mapping} preview={preview} problem={problem} onRepeat={() => setAttempt(attempt + 1)} />
      </div>
    </div>
  )
}

/** What is between backticks is code. */
const withCode = (text: string) =>
  text.split('`').map((part, index) => (index % 2 === 0 ? part : <code key={index}>{part}</code>))
