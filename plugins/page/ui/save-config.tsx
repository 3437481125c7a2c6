// The dialog that saves the configuration file: what changes, what needs a restart, and what is wrong.
import { useEffect, useState } from 'preact/hooks'
import { ApiError, type Reply } from '../api/client.ts'
import { messageOf, useApp } from '../app/app.ts'
import { Dialog } from './dialog.tsx'
import { Difference } from './difference.tsx'
import { Button, Loading, Notice } from './parts.tsx'
import { Sentence } from './problems.tsx'

export type StoredFile = Pick<Reply<'GET /api/config/file'>, 'text' | 'etag'>
type Checked = Reply<'POST /api/config/check'>

interface SaveConfigProps {
  title: string
  /** The file that the new text is based on. Absent: it is read. */
  base?: StoredFile
  /** Returns the new text. Called again if the file has changed meanwhile. */
  change(base: string): string | Promise<string>
  onSaved?(file: StoredFile): void
  onClose(): void
  /** Drops the new text in favor of a file that has changed meanwhile. Absent: there is nothing to drop. */
  onDiscard?(file: StoredFile): void
}

interface Draft {
  base: StoredFile
  text: string
  checked: Checked
  /** What the file had before somebody else changed it. */
  outdated?: string
}

export function SaveConfig({ title, base: given, change, onSaved, onClose, onDiscard }: SaveConfigProps) {
  const { call, toasts } = useApp()
  const [draft, setDraft] = useState<Draft>()
  const [problem, setProblem] = useState<string>()

  const prepare = async (base: StoredFile, outdated?: string): Promise<void> => {
    const text = await change(base.text)
    const checked = await call('POST /api/config/check', { body: { text } })
    setDraft({ base, text, checked, ...(outdated !== undefined && { outdated }) })
  }
  useEffect(() => {
    const begin = async (): Promise<void> => prepare(given ?? (await call('GET /api/config/file')))
    begin().catch((error: unknown) => setProblem(messageOf(error)))
  }, [])

  const save = async ({ base, text }: Draft): Promise<void> => {
    try {
      const saved = await call('POST /api/config/file', { headers: { 'if-match': base.etag }, body: { text } })
      toasts.show(describeSaved(saved))
      onSaved?.({ text, etag: saved.etag })
      onClose()
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 412) throw error
      await prepare(await call('GET /api/config/file'), base.text)
    }
  }

  const isValid = draft !== undefined && draft.checked.problems.length === 0
  return (
    <Dialog
      title={title}
      onClose={onClose}
      isLarge
      actions={
        <>
          <Button onClick={onClose}>Go back</Button>
          {draft?.outdated !== undefined && onDiscard && (
            <Button
              onClick={() => {
                onDiscard(draft.base)
                onClose()
              }}
            >
              Drop my changes
            </Button>
          )}
          <Button
            kind="primary"
            disabled={!isValid || draft.text === draft.base.text}
            onClick={() => draft && save(draft)}
          >
            {draft?.outdated === undefined ? 'Save' : 'Save over the new file'}
          </Button>
        </>
      }
    >
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      {draft ? <Contents {...draft} /> : problem === undefined && <Loading />}
    </Dialog>
  )
}

function Contents({ base, text, checked, outdated }: Draft) {
  const { problems, warnings, restartFor } = checked
  return (
    <>
      {outdated !== undefined && (
        <>
          <Notice tone="warn">
            Somebody has changed the file since you opened it. Nothing is saved yet. This is what they changed:
          </Notice>
          <Difference label="What has changed in the file" before={outdated} after={base.text} />
          <p>And this is what saving would change in the file as it is now:</p>
        </>
      )}
      {problems.length > 0 && <Notice tone="bad">The text is not a valid configuration, so it cannot be saved.</Notice>}
      {problems.map((one) => (
        <Notice key={one.path + one.problem} tone="bad">
          <Sentence of={one} />
        </Notice>
      ))}
      {warnings.map((one) => (
        <Notice key={one.path + one.problem} tone="warn">
          <Sentence of={one} />
        </Notice>
      ))}
      {restartFor.length > 0 && (
        <Notice>
          {'These keys take effect at the next start of the gateway: '}
          <code>{restartFor.join(', ')}</code>. The others take effect at once.
        </Notice>
      )}
      <Difference label="What saving changes" before={base.text} after={text} />
    </>
  )
}

function describeSaved({ changed, restartFor, notApplied }: Reply<'POST /api/config/file'>) {
  if (notApplied !== undefined)
    return {
      tone: 'bad',
      text: `Saved, but not in effect: ${notApplied} The gateway continues with the old one.`,
    } as const
  const now = changed.filter((path) => !restartFor.some((key) => path === key || path.startsWith(`${key}.`)))
  const parts = [
    now.length > 0 ? `In effect: ${list(now)}.` : '',
    restartFor.length > 0 ? `At the next start: ${list(restartFor)}.` : '',
  ]
  return { tone: 'good', text: ['Saved.', ...parts].filter(Boolean).join(' ') } as const
}

const maxListed = 6
const list = (paths: readonly string[]): string =>
  [...paths.slice(0, maxListed), ...(paths.length > maxListed ? [`${paths.length - maxListed} more`] : [])].join(', ')
