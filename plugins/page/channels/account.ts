// An account of a channel, and its name for the reader.
import type { Reply } from '../api/client.ts'

export type Account = Reply<'GET /api/channels'>['accounts'][number]

export const nameOf = ({ channel, accountId }: Pick<Account, 'channel' | 'accountId'>): string =>
  accountId === 'default' ? channel : `${channel} (${accountId})`

/** States of channels and pairings have no topic, so they are asked for. */
export const pollMs = 3_000
