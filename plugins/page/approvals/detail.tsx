// The detail of an approval: what is to be called with which arguments, who asks, why, and the answer.
import { useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { useLive } from '../app/use-live.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Field } from '../ui/fields.tsx'
import { formatCount } from '../ui/format.ts'
import { DetailHead, LoadedDetail } from '../ui/list.tsx'
import { Button, Code, Facts, Notice, RecordLink, Section, Status, Time } from '../ui/parts.tsx'
import { toLiteral } from './literal.ts'

type Approval = Reply<'GET /api/approvals/{id}'>

const maxReasonLength = 500

export function Detail({ id, back }: { id: string; back: string }) {
  const { call } = useApp()
  const approval = useLoaded(`approval ${id}`, () => call('GET /api/approvals/{id}', { path: { id } }))
  // A change has long arguments left out, so the whole approval is loaded again.
  useLive('approval', (changes) => {
    if (changes.some((one) => one.id === id)) void approval.reload()
  })
  return (
    <LoadedDetail of={approval} noun="approval" back={back}>
      {(value) => <Loaded approval={value} back={back} />}
    </LoadedDetail>
  )
}

function Loaded({ approval, back }: { approval: Approval; back: string }) {
  const { id, status, tool, agentId, sessionKey, runId, origin, rule, createdAt, expiresAt } = approval
  const { answeredAt, answeredBy, reason } = approval
  const { may, content } = useMe()
  // Nobody approves what they may not read.
  const mayAnswer = content && may('POST /api/approvals/{id}/approve')
  return (
    <>
      <DetailHead
        title={tool}
        back={back}
        badge={<Status of={status} />}
        actions={status === 'waiting' && mayAnswer && <Answer approval={approval} />}
      />
      <div class="body">
        <Facts
          of={[
            ['Tool', tool],
            ['Agent', agentId],
            ['Origin', origin],
            ['Asked because of', rule],
            ['Approved for', approval.forTurn === 'approved' && 'the turn'],
            ['Run', runId && <RecordLink key="run" view="runs" id={runId} />],
            ['Session', <RecordLink key="session" view="sessions" id={sessionKey} />],
            ['Created', <Time key="created" at={createdAt} />],
            [status === 'waiting' ? 'Expires' : 'Expiry', <Time key="expires" at={expiresAt} />],
            ['Answered', answeredAt && <Time key="answered" at={answeredAt} />],
            ['Answered by', answeredBy && `${answeredBy.role} ${answeredBy.id} (${answeredBy.via})`],
            ['Reason', reason],
            ['Id', <code key="id">{id}</code>],
          ]}
        />
        <Arguments approval={approval} />
      </div>
    </>
  )
}

function Arguments({ approval: { args, argsLength, hidesSecrets } }: { approval: Approval }) {
  if (argsLength === undefined)
    return (
      <Section title="Arguments">
        <p class="muted">The arguments were deleted.</p>
      </Section>
    )
  return (
    <Section title="Arguments" action={<span class="muted small">{formatCount(argsLength)} characters of JSON</span>}>
      {hidesSecrets && (
        <Notice tone="warn">
          The arguments hold secrets of the configuration. They are shown as <code>[redacted]</code>; the call is made
          with the secrets.
        </Notice>
      )}
      <div class="literal">
        <Code label="Arguments" text={args === undefined ? undefined : toLiteral(args)} />
      </div>
    </Section>
  )
}

function Answer({ approval: { id, tool, forTurn } }: { approval: Approval }) {
  const { call, toasts } = useApp()
  const [isDenying, setDenying] = useState(false)
  const approve = async (scope: 'call' | 'turn'): Promise<void> => {
    await call('POST /api/approvals/{id}/approve', { path: { id }, body: { for: scope } })
    toasts.show({ text: approvedTexts[scope], tone: 'good' })
  }
  return (
    <>
      <Button kind="primary" onClick={() => approve('call')}>
        Approve
      </Button>
      {forTurn === 'possible' && <Button onClick={() => approve('turn')}>Approve for this turn</Button>}
      <Button kind="danger" onClick={() => setDenying(true)}>
        Deny
      </Button>
      {isDenying && <Deny id={id} tool={tool} onClose={() => setDenying(false)} />}
    </>
  )
}

const approvedTexts = {
  call: 'Approved. The call is made now.',
  turn: 'Approved for this turn. The call is made now.',
} as const

function Deny({ id, tool, onClose }: { id: string; tool: string; onClose(): void }) {
  const { call, toasts } = useApp()
  const [reason, setReason] = useState('')
  const deny = async (): Promise<void> => {
    await call('POST /api/approvals/{id}/deny', {
      path: { id },
      body: reason.trim() === '' ? {} : { reason: reason.trim() },
    })
    toasts.show({ text: 'The call is denied.', tone: 'good' })
    onClose()
  }
  return (
    <Dialog
      title={`Deny the call of ${tool}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Go back</Button>
          <Button kind="primary" onClick={deny}>
            Deny the call
          </Button>
        </>
      }
    >
      <Field label="Reason" hint="The agent reads it. It may be empty.">
        {(field) => (
          <textarea
            id={field}
            class="input"
            maxLength={maxReasonLength}
            value={reason}
            onInput={({ currentTarget }) => setReason(currentTarget.value)}
          />
        )}
      </Field>
    </Dialog>
  )
}
