// The subject of a call over HTTP: the session that it names, and the channel of its headers.
import type { IncomingMessage } from 'node:http'
import type { Principal } from '../http/access.ts'
import { headerReader } from '../http/auth.ts'
import { clientOf, ownersFor } from './reach.ts'
import { resolveSession, type SessionOwners } from './session.ts'
import type { Subject } from './subject.ts'

interface Call {
  raw: Pick<IncomingMessage, 'rawHeaders'>
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

/** Undefined if the header is missing or blank. Throws `malformed_header` if it is repeated. */
export const readHeader = (call: Pick<Call, 'raw'>, name: string): string | undefined =>
  headerReader(call)(name)?.trim() || undefined
