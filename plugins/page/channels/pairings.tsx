// The senders that ask to be let in, and those that were approved.
import { useState } from 'preact/hooks'
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { usePolling } from '../app/use-polling.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Button, Notice, Section, Time } from '../ui/parts.tsx'
import { nameOf, pollMs } from './account.ts'

type Pairing = Item<'GET /api/pairings'>

export function Pairings() {
  const { call } = useApp()
  const pairings = useLoaded('pairings', () => call('GET /api/pairings'))
  usePolling(pollMs, () => void pairings.reload())
  const items = pairings.value.value?.items
  if (!items) return pairings.state.value === 'failed' ? <Notice tone="bad">{pairings.error.value}</Notice> : null
  const waiting = items.filter(({ status }) => status === 'pending')
  const approved = items.filter(({ status }) => status === 'approved')
  return (
    <>
      <Section title="Waiting for approval">
        {waiting.length === 0 ? (
          <p class="muted">
            None. With <code>dmPolicy: "pairing"</code>, an unknown sender gets a code, and is listed here.
          </p>
        ) : (
          <PairingList label="Waiting for approval" items={waiting} onChange={pairings.reload} />
        )}
      </Section>
      {approved.length > 0 && (
        <Section title="Approved senders">
          <PairingList label="Approved senders" items={approved} onChange={pairings.reload} />
        </Section>
      )}
    </>
  )
}

interface PairingListProps {
  label: string
  items: readonly Pairing[]
  onChange(): Promise<void>
}

const PairingList = ({ label, items, onChange }: PairingListProps) => (
  <ul class="rows card" aria-label={label}>
    {items.map((item) => (
      <li key={JSON.stringify([item.channel, item.accountId, item.sender])}>
        <PairingRow item={item} onChange={onChange} />
      </li>
    ))}
  </ul>
)

function PairingRow({ item, onChange }: { item: Pairing; onChange(): Promise<void> }) {
  const { call, toasts } = useApp()
  const { may } = useMe()
  const [isRevoking, setRevoking] = useState(false)
  const { status, channel, accountId, sender, name, code, at, expiresAt } = item
  const shown = name ?? sender
  const approve = async (): Promise<void> => {
    await call('POST /api/pairings/{code}/approve', { path: { code: code ?? '' } })
    toasts.show({ text: `${shown} may write to the agent now.`, tone: 'good' })
    await onChange()
  }
  const revoke = async (): Promise<void> => {
    await call('POST /api/pairings/revoke', { body: { channel, accountId, sender } })
    toasts.show({ text: `${shown} may not write to the agent.`, tone: 'good' })
    await onChange()
  }
  return (
    <div class="row pairing-row">
      <div class="break grow">
        <strong>{shown}</strong>
        <div class="muted small">
          {name !== undefined && <code>{sender}</code>} on {nameOf(item)}
        </div>
      </div>
      {code !== undefined && (
        <span>
          <span class="muted small">Code </span>
          <code>{code}</code>
        </span>
      )}
      <span class="muted small">
        {status === 'pending' ? 'asked ' : 'approved '}
        <Time at={at} />
        {expiresAt !== undefined && (
          <>
            , expires <Time at={expiresAt} />
          </>
        )}
      </span>
      <div class="line">
        {!may('POST /api/pairings/revoke') ? null : status === 'pending' ? (
          <>
            <Button kind="primary" label={`Approve ${shown}`} onClick={approve}>
              Approve
            </Button>
            <Button label={`Deny ${shown}`} onClick={revoke}>
              Deny
            </Button>
          </>
        ) : (
          <Button label={`Withdraw the approval of ${shown}`} onClick={() => setRevoking(true)}>
            Withdraw
          </Button>
        )}
      </div>
      {isRevoking && (
        <Confirm
          title={`Withdraw the approval of ${shown}`}
          text="The sender may not write to the agent any more, and must ask for a new code."
          action="Withdraw"
          onConfirm={revoke}
          onClose={() => setRevoking(false)}
        />
      )}
    </div>
  )
}
