// The subject of a call over HTTP: the session that it names, and the channel of its headers.
import type { IncomingHttpHeaders } from 'node:http'
import type { Principal } from '../http/access.ts'
import { clientOf, ownersFor } from './reach.ts'
import { resolveSession, type SessionOwners } from './session.ts'
import type { Subject } from './subject.ts'

interface Call {
  headers: IncomingHttpHeaders
  principal: Principal
}

export function subjectOf(
  call: Call,
  { agents, sessionKey }: { agents: SessionOwners; sessionKey: string | undefined },
): Subject {
  const { principal } = call
  return {
    caller: 'http',
    ...resolveSession(ownersFor(agents, principal), sessionKey),
    client: clientOf(principal),
    channel: readHeader(call, 'x-svc-message-channel'),
    accountId: readHeader(call, 'x-svc-account-id'),
  }
}

/** Undefined if the header is missing or blank. */
export function readHeader({ headers }: Pick<Call, 'headers'>, name: string): string | undefined {
  const header = headers[name]
  return (typeof header === 'string' && header.trim()) || undefined
}
