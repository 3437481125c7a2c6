// The request that a mapping is tried with: a captured one, or what the reader pastes.
import { useState } from 'preact/hooks'
import { Field } from '../ui/fields.tsx'
import { Button, Notice, Section } from '../ui/parts.tsx'
import type { ImportedCurl } from './curl.ts'
import { ImportCurl } from './import-curl.tsx'
import type { GivenRequest } from './request.ts'

interface RequestFormProps {
  request: GivenRequest
  onChange(request: GivenRequest): void
  onImport(imported: ImportedCurl): void
}

export function RequestForm({ request, onChange, onImport }: RequestFormProps) {
  const [isImporting, setImporting] = useState(false)
  const { body, headers, isBodyMissing } = request
  return (
    <Section title="Request" action={<Button onClick={() => setImporting(true)}>Import curl</Button>}>
      {isImporting && <ImportCurl onImport={onImport} onClose={() => setImporting(false)} />}
      {isBodyMissing && <Notice tone="warn">The body of this request was not stored. Paste one.</Notice>}
      <Field label="Payload" hint="JSON, or a form with its content type in the headers.">
        {(id) => (
          <textarea
            id={id}
            class="input mono tall"
            spellcheck={false}
            value={body}
            onInput={({ currentTarget }) => onChange({ ...request, body: currentTarget.value, isBodyMissing: false })}
          />
        )}
      </Field>
      <Field label="Headers" hint="One on each line, such as x-github-event: issues.">
        {(id) => (
          <textarea
            id={id}
            class="input mono"
            spellcheck={false}
            value={headers}
            onInput={({ currentTarget }) => onChange({ ...request, headers: currentTarget.value })}
          />
        )}
      </Field>
    </Section>
  )
}
