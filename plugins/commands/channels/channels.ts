// Lists the accounts of channels, and unlinks one.
import type { CommandContext } from 'svc-gateway/plugin'

type Context = CommandContext<'control'>

interface Account {
  channel: string
  accountId: string
  state: string
  since: string
  reason?: string
}

export async function listChannels({ json }: { json?: boolean }, { control, terminal }: Context): Promise<void> {
  const { accounts } = await control.get<{ accounts: Account[] }>('/api/channels')
  await terminal.printList(accounts, {
    noun: 'configured accounts',
    json,
    columns: {
      CHANNEL: ({ channel }) => channel,
      ACCOUNT: ({ accountId }) => accountId,
      STATE: ({ state }) => state,
      SINCE: ({ since }) => since,
      REASON: ({ reason }) => reason,
    },
  })
}

export async function logout(
  { name, account, json }: { name: string; account?: string; json?: boolean },
  { control, terminal }: Context,
): Promise<void> {
  const answer = await control.post(`/api/channels/${encodeURIComponent(name)}/logout`, { account })
  if (json) terminal.printJson(answer)
  else terminal.print(`${name} is unlinked.`)
}
