// The command that accepts new work, and its result.
import type { Json } from '../../plugin.ts'
import type { NewDelivery } from './outbox.ts'
import type { NewEvent } from './events.ts'
import type { NewRequest } from './requests.ts'
import type { NewRun } from './runs.ts'
import type { Firing } from './schedules.ts'
import type { NewRoute } from './sessions.ts'
import type { Timestamp } from './timestamp.ts'

export interface Idempotency {
  scope: string
  key: string
  bodyHash: string
  /** True: a request with another body takes over the key, so that only the latest one counts. */
  latestOnly?: boolean | undefined
  expiresAt: Timestamp
  reply: string
}

export interface AcceptCommand {
  at: Timestamp
  request?: NewRequest | undefined
  /** With a key, a second accept of the same scope and key changes nothing. */
  idempotency?: Idempotency | undefined
  events?: readonly NewEvent[] | undefined
  runs?: readonly NewRun[] | undefined
  /** Where the latest message of this session came from. */
  route?: ({ sessionKey: string; agentId: string } & NewRoute) | undefined
  deliveries?: readonly NewDelivery[] | undefined
  /** Key-value state that changes together with the rest. */
  state?: { owner: string; key: string; value: Json } | undefined
  /** With a firing, the command is accepted only if the schedule has not fired for that time yet. */
  firing?: Firing | undefined
}

export type AcceptResult =
  | { outcome: 'accepted' }
  /** The key was used with the same body. `reply` is the first request's reply. */
  | { outcome: 'replayed'; reply: string }
  /** The key was used with another body, or the schedule has already fired. */
  | { outcome: 'conflict' }
