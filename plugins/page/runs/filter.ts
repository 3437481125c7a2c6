// The filters of runs, from the address.
import type { Location } from '../app/router.ts'
import { oneOf } from '../ui/list-view.tsx'

export const statuses = ['queued', 'running', 'waiting', 'succeeded', 'failed', 'timed_out', 'cancelled'] as const
export const kinds = ['hook', 'heartbeat', 'channel', 'subagent', 'schedule', 'chat'] as const

/** The filters as the API takes them. */
export const filterOf = ({ status, kind, hook, agentId, sessionKey }: Location['query']) => ({
  status: oneOf(statuses, status),
  kind: oneOf(kinds, kind),
  hook,
  agentId,
  sessionKey,
})
