// The command `pairing`: lists the senders that wait for approval or have it, approves one, and withdraws an approval.
import { escapeInLine } from 'svc-gateway/kit'
import { defineCommand } from 'svc-gateway/plugin'

/** One item of `GET /api/pairings`. */
interface Pairing {
  status: 'pending' | 'approved'
  channel: string
  accountId: string
  sender: string
  name?: string
  code?: string
  at: string
  expiresAt?: string
}

/** Strangers choose their names. */
const describeSender = ({ channel, accountId, sender, name }: Pairing): string =>
  escapeInLine(`${sender}${name === undefined ? '' : ` (${name})`} on ${channel}, account ${accountId}`)

const list = defineCommand({
  name: 'pairing list',
  group: 'Approve senders that may write to the agents on a channel.',
  description: 'List the senders that wait for approval or have it.',
  needs: ['control'],
  json: 'one JSON object per line, as in the API',
  examples: ['pairing list'],
  run: async ({ json }, { control, terminal }) => {
    const { items } = await control.get<{ items: Pairing[] }>('/api/pairings')
    await terminal.printList(items, {
      noun: 'senders',
      json,
      columns: {
        STATUS: ({ status }) => status,
        CODE: ({ code }) => code,
        SENDER: describeSender,
        TIME: ({ at, expiresAt }) => (expiresAt ? `until ${expiresAt}` : `since ${at}`),
      },
    })
  },
})

const approve = defineCommand({
  name: 'pairing approve',
  description: 'Approve the sender that was given this code.',
  arguments: { code: { description: 'the code, from the sender or from "pairing list"' } },
  needs: ['control'],
  json: 'one JSON object, as in the API',
  examples: ['pairing approve K7M2QX9D'],
  run: async ({ code, json }, { control, terminal }) => {
    const approved = await control.post<Pairing>(`/api/pairings/${encodeURIComponent(code.trim())}/approve`, {})
    if (json) terminal.printJson(approved)
    else terminal.print(`Approved: ${describeSender(approved)}`)
  },
})

const revoke = defineCommand({
  name: 'pairing revoke',
  description: 'Withdraw the approval of a sender, or deny it to one that waits.',
  arguments: {
    channel: { description: 'the name of the channel', completes: 'channel' },
    sender: { description: 'the id of the sender, from "pairing list"' },
  },
  options: { account: { value: '<id>', description: 'the account of the channel (default: default)' } },
  needs: ['control'],
  json: 'one JSON object, as in the API',
  examples: ['pairing revoke telegram 123456789'],
  run: async ({ channel, sender, account: accountId, json }, { control, terminal }) => {
    const answer = await control.post('/api/pairings/revoke', { channel, sender, accountId })
    if (json) terminal.printJson(answer)
    else terminal.print('The sender may not write to the agent.')
  },
})

export default [list, approve, revoke]
