// The dialog that edits a request, shows what it would start now beside what it started first, and replays it.
import { useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { messageOf, useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field, Select } from '../ui/fields.tsx'
import { Badge, Button, Code, Facts, Notice, Section } from '../ui/parts.tsx'

type Request = Reply<'GET /api/requests/{id}'>
type Preview = Reply<'POST /api/requests/{id}/replay'>

export function ReplayDialog({ request, onClose }: { request: Request; onClose(): void }) {
  const { call, router } = useApp()
  const original = pretty(request.body ?? '')
  const [text, setText] = useState(original)
  const [mapping, setMapping] = useState('')
  const [preview, setPreview] = useState<Preview>()
  const [problem, setProblem] = useState<string>()
  const { may } = useMe()
  const hooks = useLoaded('hooks', async () => (may('GET /api/hooks') ? (await call('GET /api/hooks')).items : []))
  const mappings = (hooks.value.value ?? []).flatMap(({ mappings }) => mappings.map(({ id }) => id))
  const isChanged = text !== original

  const send = async (dryRun: boolean): Promise<Preview | undefined> => {
    const body = isChanged ? parse(text) : { value: undefined }
    if (body === undefined) {
      setProblem('The body is not valid JSON. Correct it, or close this dialog.')
      return undefined
    }
    try {
      setProblem(undefined)
      return await call('POST /api/requests/{id}/replay', {
        path: { id: request.id },
        body: { ...(isChanged && { body: body.value }), ...(mapping !== '' && { mapping }), ...(dryRun && { dryRun }) },
      })
    } catch (error) {
      setPreview(undefined)
      setProblem(messageOf(error))
      return undefined
    }
  }
  const check = async (): Promise<void> => setPreview(await send(true))
  const replay = async (): Promise<void> => {
    const reply = await send(false)
    if (!reply) return
    onClose()
    if (reply.requestId !== undefined) router.go({ view: 'requests', item: reply.requestId })
  }

  return (
    <Dialog
      title="Edit and replay"
      isLarge
      onClose={onClose}
      actions={
        <>
          <Button onClick={check}>Dry run</Button>
          <Button kind="primary" icon="replay" onClick={replay}>
            Replay
          </Button>
        </>
      }
    >
      <div class="columns">
        <div class="stack">
          <Field
            label="Body"
            hint={isChanged ? 'JSON. It replaces the received body.' : 'Unchanged, as it was received.'}
          >
            {(id) => (
              <textarea
                id={id}
                class="input mono tall"
                spellcheck={false}
                value={text}
                onInput={({ currentTarget }) => setText(currentTarget.value)}
              />
            )}
          </Field>
          <div class="line">
            <span>Mapping</span>
            <Select
              label="Mapping"
              anyText="The one that matches"
              value={mapping}
              options={[...new Set(mappings)].map((id) => [id, id])}
              onChange={setMapping}
            />
          </div>
        </div>
        <div class="stack">
          {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
          {preview ? (
            <PreviewOf preview={preview} />
          ) : (
            <p class="muted">A dry run shows here what the request would start now. It starts nothing.</p>
          )}
          <FirstTime request={request} />
        </div>
      </div>
    </Dialog>
  )
}

function PreviewOf({ preview: { mapping, matchedBy, actions = [], skippedBy, auth } }: { preview: Preview }) {
  return (
    <Section title="Now" action={<Badge tone="info">dry run</Badge>}>
      <Facts
        of={[
          ['Mapping', mapping ?? 'none: the hook is built in'],
          ['Found by', matchedBy?.replaceAll('-', ' ')],
          ['Needs', auth?.scheme],
        ]}
      />
      {skippedBy && <Notice>{`Rule ${skippedBy.rule + 1} of "skip" applies, so nothing would be started.`}</Notice>}
      {!skippedBy && actions.length === 0 && <Notice>Nothing would be started.</Notice>}
      {actions.map((action, index) => (
        <div class="stack" key={index}>
          <Facts
            of={[
              ['Action', action.action],
              ['Session', action.sessionKey],
              ['Model', action.model],
              ['Reply goes to', action.delivery && `${action.delivery.channel} ${action.delivery.to}`],
              ['Tools', action.tools?.join(', ')],
              ['Withheld', action.withheld?.join(', ')],
            ]}
          />
          <Code label="Message now" text={action.message ?? action.text ?? ''} />
        </div>
      ))}
    </Section>
  )
}

function FirstTime({ request: { actions } }: { request: Request }) {
  return (
    <Section title="The first time">
      {actions.length === 0 && <p class="muted">The request started nothing.</p>}
      {actions.map(({ action, sessionKey, message, runId, eventId }) => (
        <div class="stack" key={runId ?? eventId}>
          <Facts
            of={[
              ['Action', action],
              ['Session', sessionKey],
            ]}
          />
          <Code label="First message" text={message ?? 'It is not stored any more.'} />
        </div>
      ))}
    </Section>
  )
}

function pretty(text: string): string {
  const parsed = parse(text)
  return parsed === undefined ? text : JSON.stringify(parsed.value, null, 2)
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown }
  } catch {
    return undefined
  }
}
