// The detail of a delivery: what was sent to whom, what became of it, what to check, and the retry.
import { useState } from 'preact/hooks'
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { useLive } from '../app/use-live.ts'
import { Confirm } from '../ui/dialog.tsx'
import { DetailHead, LoadedDetail } from '../ui/list.tsx'
import { Button, Code, Facts, Notice, RecordLink, Section, Status, Time } from '../ui/parts.tsx'

type Delivery = Item<'GET /api/outbox'>

export function Detail({ id, back }: { id: string; back: string }) {
  const { call } = useApp()
  const delivery = useLoaded(`delivery ${id}`, () => call('GET /api/outbox/{id}', { path: { id } }))
  useLive('outbox', (changes) => {
    const changed = changes.findLast((one) => one.id === id)
    if (changed) delivery.set(changed)
  })
  return (
    <LoadedDetail of={delivery} noun="delivery" back={back}>
      {(value) => <Loaded delivery={value} back={back} />}
    </LoadedDetail>
  )
}

function Loaded({ delivery, back }: { delivery: Delivery; back: string }) {
  const { id, runId, channel, accountId, to, threadId, text, file, status, attempts, nextAt, createdAt } = delivery
  const canRetry = useMe().may('POST /api/outbox/{id}/retry') && (status === 'failed' || status === 'unknown')
  return (
    <>
      <DetailHead
        title={`${channel} ${to}`}
        back={back}
        badge={<Status of={status} />}
        actions={canRetry && <Retry delivery={delivery} />}
      />
      <div class="body">
        <Outcome delivery={delivery} />
        <Facts
          of={[
            ['Channel', channel],
            ['Account', accountId !== 'default' && accountId],
            ['To', to],
            ['Thread', threadId],
            ['Created', <Time key="created" at={createdAt} />],
            ['Attempts', String(attempts)],
            ['Next attempt', nextAt !== undefined && <Time key="next" at={nextAt} />],
            ['Run', runId !== '' && <RecordLink key="run" view="runs" id={runId} />],
            ['File', file && `${file.name} (${file.type})`],
            ['Id', <code key="id">{id}</code>],
          ]}
        />
        <Section title="Text">
          {text === '' ? <p class="muted">The delivery has no text.</p> : <Code label="Text" text={text} isProse />}
        </Section>
      </div>
    </>
  )
}

function Outcome({ delivery: { status, reason, channel, to } }: { delivery: Delivery }) {
  if (status === 'unknown')
    return (
      <Notice tone="warn">
        <p>
          <strong>Nobody knows whether it arrived.</strong> {reason ?? 'The answer of the platform was lost.'}
        </p>
        <p>
          Look into the conversation with {to} on {channel}. If the message is there, there is nothing to do. If it is
          not, send it again: the gateway never repeats it by itself, because the recipient could then read it twice.
        </p>
      </Notice>
    )
  if (reason === undefined) return null
  const [label, tone] = { failed: ['Failed', 'bad'], skipped: ['Skipped', 'info'] }[status as 'failed'] ?? [
    'Last attempt',
    'warn',
  ]
  return (
    <Notice tone={tone as 'bad'}>
      <strong>{label}: </strong>
      {reason}
    </Notice>
  )
}

function Retry({ delivery: { id, status, to, channel } }: { delivery: Delivery }) {
  const { call, toasts } = useApp()
  const [isAsking, setAsking] = useState(false)
  const retry = async (): Promise<void> => {
    await call('POST /api/outbox/{id}/retry', { path: { id } })
    toasts.show({ text: 'The delivery is sent again.', tone: 'good' })
  }
  return (
    <>
      <Button kind="primary" icon="replay" onClick={status === 'unknown' ? () => setAsking(true) : retry}>
        Send again
      </Button>
      {isAsking && (
        <Confirm
          title="Send the message again"
          text={`If the first one did arrive, ${to} on ${channel} reads it twice. Check the conversation first.`}
          action="Send again"
          onConfirm={retry}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  )
}
