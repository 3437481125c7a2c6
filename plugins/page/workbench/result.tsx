// What the mapping makes of the request, and its text for the configuration.
import { useState } from 'preact/hooks'
import { useMe } from '../app/me.ts'
import { Badge, Button, Code, Facts, Loading, Notice, Section } from '../ui/parts.tsx'
import type { Preview } from './preview.ts'
import { PlaceField, type Rival, usePlaces } from './place.tsx'
import { SaveMapping } from './save-mapping.tsx'

interface ResultProps {
  mapping: string
  preview: Preview | undefined
  /** Why the mapping could not be tried. */
  problem: string | undefined
  /** Tries the mapping again. */
  onRepeat(): void
}

export function Result({ mapping, preview, problem, onRepeat }: ResultProps) {
  return (
    <>
      <Section title="What the agent reads" action={preview && <Verdict preview={preview} />}>
        <div class="stack" aria-live="polite">
          {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
          {preview ? <Actions preview={preview} /> : problem === undefined && <Loading />}
        </div>
      </Section>
      {preview?.transform && <TransformResult of={preview.transform} onRepeat={onRepeat} />}
      <ForConfiguration mapping={mapping} isValid={preview?.problems.length === 0} />
    </>
  )
}

function ForConfiguration({ mapping, isValid }: { mapping: string; isValid: boolean }) {
  const { may } = useMe()
  const [isSaving, setSaving] = useState(false)
  const places = usePlaces(mapping)
  const [place, setPlace] = useState<Rival>()
  const before = places.rivals.find(({ index }) => index === place?.index)
  const close = (): void => {
    setSaving(false)
    void places.reload()
  }
  const save = may('POST /api/config/file') && (
    <Button disabled={!isValid} onClick={() => setSaving(true)}>
      Save…
    </Button>
  )
  return (
    <Section title="For the configuration" action={save}>
      <p class="muted small">
        It belongs in the list <code>hooks.mappings</code>. The first mapping that matches a request is used.
      </p>
      <Code label="Mapping" text={mapping} />
      <PlaceField places={places} before={before} onChange={setPlace} />
      {isSaving && <SaveMapping mapping={mapping} before={before} onClose={close} />}
    </Section>
  )
}

function Verdict({ preview: { problems, isMatch } }: { preview: Preview }) {
  if (problems.length > 0) return <Badge tone="bad">has problems</Badge>
  if (isMatch === undefined) return null
  return isMatch ? <Badge tone="good">matches</Badge> : <Badge tone="warn">does not match</Badge>
}

function Actions({ preview }: { preview: Preview }) {
  const { problems, warnings, unmet = [], actions, skippedBy, error } = preview
  if (problems.length > 0) return <Notice tone="bad">Correct the mapping first; its problems are at its fields.</Notice>
  return (
    <>
      {unmet.length > 0 && (
        <Notice tone="warn">
          {'The request does not match, so another mapping would be used. These conditions do not hold: '}
          <code>{unmet.join(', ')}</code>. Below is what the agent would read if they did.
        </Notice>
      )}
      {warnings.map(({ path, problem }) => (
        <Notice key={path + problem} tone="warn">
          {path === '' ? 'The mapping' : <code>{path}</code>} {problem}.
        </Notice>
      ))}
      {error && (
        <Notice tone="bad">
          <strong>The sender gets an error: </strong>
          {error.message} <code class="muted">{error.type}</code>
          {error.detail !== undefined && <div class="break mono">{error.detail}</div>}
        </Notice>
      )}
      {skippedBy && <Notice>{`Rule ${skippedBy.rule + 1} of "skip" applies, so nothing would be started.`}</Notice>}
      {!skippedBy && actions?.length === 0 && <Notice>Nothing would be started.</Notice>}
      {actions?.map((action, index) => (
        <Action key={index} action={action} number={index + 1} isOnly={actions.length === 1} />
      ))}
    </>
  )
}

interface TransformResultProps {
  of: NonNullable<Preview['transform']>
  onRepeat(): void
}

/** What the transform returned and logged. Its error is at its field. */
function TransformResult({ of: { result, ms, logs }, onRepeat }: TransformResultProps) {
  return (
    <Section title="What the transform did" action={<Button onClick={onRepeat}>Run again</Button>}>
      {ms !== undefined && <p class="muted small">{`${describeResult(result)} It took ${ms.toFixed(1)} ms.`}</p>}
      {result !== undefined && result !== null && <Code label="Result" text={JSON.stringify(result, null, 2)} />}
      {logs.length > 0 && <Code label="Log" text={logs.map(({ level, text }) => `${level}: ${text}`).join('\n')} />}
    </Section>
  )
}

function describeResult(result: unknown): string {
  if (result === undefined) return 'Nothing: the mapping is used as it is.'
  if (result === null) return 'null: the request is skipped.'
  return Array.isArray(result) ? `${result.length} actions.` : 'Fields of the action.'
}

interface ActionProps {
  action: NonNullable<Preview['actions']>[number]
  number: number
  isOnly: boolean
}

function Action({ action, number, isOnly }: ActionProps) {
  const { delivery, tools = [], withheld = [] } = action
  return (
    <div class="stack">
      <Code
        label={isOnly ? 'Message of the agent' : `Message of action ${number}`}
        text={action.message ?? action.text ?? ''}
        isProse
      />
      <Facts
        of={[
          ['Agent', action.agentId],
          ['Session', action.sessionKey],
          ['Model', action.model],
          ['Reply goes to', delivery && (delivery.reason ?? `${delivery.channel} ${delivery.to}`)],
          ['Tools', tools.join(', ')],
          ['Withheld', withheld.join(', ')],
        ]}
      />
      {action.prompt !== undefined && (
        <details>
          <summary>The whole prompt</summary>
          <Code label={isOnly ? 'Prompt' : `Prompt of action ${number}`} text={action.prompt} />
        </details>
      )}
    </div>
  )
}
