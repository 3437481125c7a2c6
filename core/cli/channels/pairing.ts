// The command `pairing`: lists the senders that wait for approval or have it, approves one, and withdraws an approval.
import { type ControlOptions, openControl } from '../control-client.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { printJson, printList } from '../inspect/output.ts'

/** One item of `GET /api/pairings`. */
interface PairingLine {
  status: 'pending' | 'approved'
  channel: string
  accountId: string
  sender: string
  name?: string
  code?: string
  at: string
  expiresAt?: string
}

export async function listPairings({ json, ...options }: ControlOptions & { json?: boolean }): Promise<void> {
  const { items } = (await openControl(options).get('/api/pairings')) as { items: PairingLine[] }
  await printList(
    items,
    { json },
    {
      noun: 'senders',
      columns: [
        { title: 'STATUS', text: ({ status }) => status },
        { title: 'CODE', text: ({ code = '' }) => code },
        { title: 'SENDER', text: (item) => describeSender(item) },
        { title: 'TIME', text: ({ at, expiresAt }) => (expiresAt ? `until ${expiresAt}` : `since ${at}`) },
      ],
    },
  )
}

export async function approvePairing(
  code: string,
  { json, ...options }: ControlOptions & { json?: boolean },
): Promise<void> {
  const path = `/api/pairings/${encodeURIComponent(code.trim())}/approve`
  const approved = (await openControl(options).post(path, {})) as PairingLine
  if (json) printJson(approved)
  else process.stdout.write(`Approved: ${describeSender(approved)}\n`)
}

interface RevokeOptions extends ControlOptions {
  account?: string
  json?: boolean
}

export async function revokePairing(
  channel: string,
  sender: string,
  { account: accountId, json, ...options }: RevokeOptions,
): Promise<void> {
  const body = { channel, sender, ...(accountId !== undefined && { accountId }) }
  const answer = await openControl(options).post('/api/pairings/revoke', body)
  if (json) printJson(answer)
  else process.stdout.write('The approval was withdrawn.\n')
}

/** Strangers choose their names. */
const describeSender = ({
  channel,
  accountId,
  sender,
  name,
}: Pick<PairingLine, 'channel' | 'accountId' | 'sender' | 'name'>) =>
  escapeInLine(`${sender}${name === undefined ? '' : ` (${name})`} on ${channel}, account ${accountId}`)
