// The view of channels: the state of each account, its login, and the senders that ask to be let in.
import { useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { type Loaded, useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { usePolling } from '../app/use-polling.ts'
import { Confirm } from '../ui/dialog.tsx'
import { Button, Empty, LoadingOf, Notice, Section, Status, Time } from '../ui/parts.tsx'
import { type Account, nameOf, pollMs } from './account.ts'
import { LoginDialog } from './login.tsx'
import { LastMessages } from './last-messages.tsx'
import { Pairings } from './pairings.tsx'

export function Channels() {
  const { call } = useApp()
  const channels = useLoaded('channels', () => call('GET /api/channels'))
  usePolling(pollMs, () => void channels.reload())
  return (
    <>
      <header class="bar">
        <h1>Channels</h1>
      </header>
      <div class="scroll">
        <div class="content">
          <Accounts channels={channels} />
          <Pairings />
          <LastMessages />
        </div>
      </div>
    </>
  )
}

function Accounts({ channels }: { channels: Loaded<Reply<'GET /api/channels'>> }) {
  return (
    <LoadingOf of={channels} what="The channels">
      {({ accounts }) =>
        accounts.length === 0 ? (
          <Empty title="No channel is configured">
            <p>
              A channel carries replies to people, and their messages to an agent. Add one to <code>channels</code> in
              the configuration, or run <code>svc-gateway setup</code>.
            </p>
          </Empty>
        ) : (
          <Section title="Accounts">
            {channels.state.value === 'failed' && <Notice tone="bad">{channels.error.value}</Notice>}
            <ul class="rows card" aria-label="Accounts">
              {accounts.map((account) => (
                <li key={`${account.channel} ${account.accountId}`}>
                  <AccountRow account={account} onChange={channels.reload} />
                </li>
              ))}
            </ul>
          </Section>
        )
      }
    </LoadingOf>
  )
}

/** What an operator does about a state. */
const advice: Partial<Record<Account['state'], string>> = {
  unauthorized: 'The platform refuses the credential. Correct it in the configuration.',
  failing: 'The gateway tries again by itself.',
  standby: 'Another gateway holds this connection.',
}

function AccountRow({ account, onChange }: { account: Account; onChange(): Promise<void> }) {
  const { may } = useMe()
  const [open, setOpen] = useState<'login' | 'logout'>()
  const { channel, state, since, reason, hasLogin } = account
  const close = (): void => {
    setOpen(undefined)
    void onChange()
  }
  return (
    <div class="row account-row">
      <Status of={state} />
      <div class="break grow">
        <strong>{nameOf(account)}</strong>
        {reason !== undefined && <div>{reason}</div>}
        {advice[state] !== undefined && <div class="muted small">{advice[state]}</div>}
      </div>
      <span class="muted small end">
        <Time at={since} />
      </span>
      <div class="line">
        <a class="button quiet" href={formatFragment({ view: 'outbox', query: { channel } })}>
          Deliveries
        </a>
        {hasLogin &&
          may('POST /api/channels/{name}/login') &&
          (state === 'connected' ? (
            <Button label={`Log out of ${nameOf(account)}`} onClick={() => setOpen('logout')}>
              Log out
            </Button>
          ) : (
            <Button kind="primary" label={`Log in to ${nameOf(account)}`} onClick={() => setOpen('login')}>
              Log in
            </Button>
          ))}
      </div>
      {open === 'login' && <LoginDialog account={account} onClose={close} />}
      {open === 'logout' && <LogoutDialog account={account} onClose={close} />}
    </div>
  )
}

function LogoutDialog({ account, onClose }: { account: Account; onClose(): void }) {
  const { call, toasts } = useApp()
  const { channel, accountId } = account
  const logOut = async (): Promise<void> => {
    await call('POST /api/channels/{name}/logout', { path: { name: channel }, body: { account: accountId } })
    toasts.show({ text: `${nameOf(account)} is logged out.`, tone: 'good' })
  }
  return (
    <Confirm
      title={`Log out of ${nameOf(account)}`}
      text="The gateway is unlinked. It neither sends nor receives on this account until somebody logs in again."
      action="Log out"
      onConfirm={logOut}
      onClose={onClose}
    />
  )
}
