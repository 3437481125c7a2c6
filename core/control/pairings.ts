// The endpoints of pairing: list the senders that wait for approval or have it, approve one, and withdraw an approval.
import { normalizeId } from '../config/channels/ids.ts'
import { channelName } from '../config/channels/names.ts'
import type { Config } from '../config/schema/schema.ts'
import type { Pairing, PairingItem as StoredItem } from '../delivery/inbound/pairing.ts'
import { failures } from '../http/failure.ts'
import type { Channel } from '../plugin/plugin.ts'
import type { AccountRef } from '../store/store.ts'
import { notBlank, Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { Done, iso, Time } from './lists.ts'
import { content } from './content.ts'

interface PairingsDeps {
  config: Pick<Config, 'channels'>
  extensions: { channels: ReadonlyMap<string, Pick<Channel<never>, 'aliases' | 'normalizeId'>> }
  pairing: Pairing
}

export function pairingEndpoints({ config, extensions, pairing }: PairingsDeps): Endpoint[] {
  const accounts = accountsOf(config)
  return [
    endpoint({
      method: 'GET',
      path: '/api/pairings',
      access: { needs: 'read', scope: 'gateway' },
      schema: {
        summary: 'Lists the senders that wait for approval, and those that have it.',
        response: { 200: Type.Object({ items: Type.Array(PairingItem) }) },
      },
      handle: async () => ({ items: (await pairing.list(accounts)).map(viewItem) }),
    }),
    endpoint({
      method: 'POST',
      path: '/api/pairings/:code/approve',
      access: { needs: 'operate', scope: 'gateway', action: 'pairing.approve' },
      hasSecretPath: true,
      schema: {
        summary: 'Approves the sender that was given this code.',
        params: Type.Object({ code: Type.String({ description: 'Upper and lower case are the same.' }) }),
        response: { 200: Approved, ...failures(404) },
      },
      handle: async ({ params, change }) => {
        const { at: _at, ...approved } = await pairing.approve(accounts, params.code, change)
        return { ok: true, ...approved }
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/pairings/revoke',
      access: { needs: 'operate', scope: 'gateway', action: 'pairing.revoke' },
      schema: {
        summary: 'Withdraws the approval of a sender, or denies it to one that waits.',
        body: Revocation,
        response: { 200: Done, ...failures(400, 404) },
      },
      handle: async ({ body: { channel, accountId = 'default', sender }, change }) => {
        const name = channelName(extensions.channels, channel)
        const id = normalizeId(extensions.channels.get(name), sender)
        await pairing.revoke({ channel: name, accountId }, id, change)
        return { ok: true }
      },
    }),
  ]
}

const viewItem = ({ at, expiresAt, ...item }: StoredItem) => ({
  ...item,
  at: iso(at),
  ...(expiresAt !== undefined && { expiresAt: iso(expiresAt) }),
})

const accountsOf = ({ channels }: Pick<Config, 'channels'>): AccountRef[] =>
  Object.entries(channels).flatMap(([channel, { accounts = { default: {} } }]) =>
    Object.keys(accounts).map((accountId) => ({ channel, accountId })),
  )

const sender = {
  channel: Type.String(),
  accountId: Type.String(),
  sender: Type.String({ description: 'The id of the sender on the platform.' }),
  name: Type.Optional(Type.String({ description: 'The display name, which the sender has chosen.' })),
}

const PairingItem = Type.Object({
  status: Type.Enum(['pending', 'approved']),
  ...sender,
  code: Type.Optional(
    Type.String({ description: 'The code that the sender was given, while it is valid.', ...content }),
  ),
  at: Time('When the code was sent, or approved.'),
  expiresAt: Type.Optional(Time('How long the code is valid.')),
})

const Approved = Type.Object({ ok: Type.Literal(true), ...sender })

const Revocation = Type.Object({
  channel: Type.String({ pattern: notBlank }),
  accountId: Type.Optional(Type.String({ pattern: notBlank, default: 'default' })),
  sender: Type.String({ pattern: notBlank }),
})
