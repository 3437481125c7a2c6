// The dialog that makes a request and a mapping of a curl command.
import { useState } from 'preact/hooks'
import { messageOf, useApp } from '../app/app.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/fields.tsx'
import { Button } from '../ui/parts.tsx'
import { type ImportedCurl, readImported } from './curl.ts'

interface ImportCurlProps {
  onImport(imported: ImportedCurl): void
  onClose(): void
}

export function ImportCurl({ onImport, onClose }: ImportCurlProps) {
  const { call } = useApp()
  const [command, setCommand] = useState('')
  const [problem, setProblem] = useState<string>()
  const submit = async (): Promise<void> => {
    try {
      onImport(readImported(await call('POST /api/hooks/import-curl', { body: { command } })))
      onClose()
    } catch (error) {
      setProblem(messageOf(error))
    }
  }
  return (
    <Dialog
      title="Import a curl command"
      isLarge
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" disabled={command.trim() === ''} onClick={submit}>
            Import
          </Button>
        </>
      }
    >
      <Field
        label="Command"
        hint="As the documentation of the service shows it. It is read and not run. Credentials are left out."
        problem={problem}
      >
        {(id) => (
          <textarea
            id={id}
            class="input mono tall"
            spellcheck={false}
            placeholder={`curl -X POST https://example.com/hooks/orders -d '{"order": 17}'`}
            value={command}
            onInput={({ currentTarget }) => setCommand(currentTarget.value)}
          />
        )}
      </Field>
    </Dialog>
  )
}
