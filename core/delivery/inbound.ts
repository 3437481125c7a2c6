// Accepts messages from channels: each becomes a run in its session, and updates the session's last route. Both are
// stored before the platform gets its acknowledgement.
import { createHash } from 'node:crypto'
import type { ChannelContext, InboundMessage, Log } from '../plugin.ts'
import { agentSessionKey } from '../sessions/keys.ts'
import type { RunSpec } from '../store/run-spec.ts'
import type { AcceptCommand, AcceptResult } from '../store/store.ts'
import { wellFormed } from '../well-formed.ts'
import type { Account } from './connections.ts'
import type { ReplyRoutes } from './reply-routes.ts'

interface InboundDeps {
  accept(command: AcceptCommand): Promise<AcceptResult>
  agent: { id: string; mainSession: string }
  maxAttempts: number
  createId: () => string
  routes: Pick<ReplyRoutes, 'note'>
  log: Log
}

export type Receive = (account: Account, message: InboundMessage) => ReturnType<ChannelContext['receive']>

/** How long the id of a message is kept to recognize duplicates. */
const idempotencyMs = 7 * 24 * 60 * 60 * 1000

/** Longest display name of a sender that is kept, in characters. */
const longestName = 200

export function createInbound({ accept, agent, maxAttempts, createId, routes, log }: InboundDeps): Receive {
  return async (account, received) => {
    const message = wellFormed(received)
    if (!isAllowed(account, message.from.id)) {
      // The operator finds the sender's id here, to add it to the list.
      log.info(
        { channel: account.channel.name, accountId: account.accountId, sender: message.from.id },
        'message ignored: its sender is not in allowFrom',
      )
      return 'ignored'
    }
    if (!message.text.trim()) return 'ignored'
    const at = Date.now()
    const channel = account.channel.name
    const address = {
      channel,
      accountId: account.accountId,
      to: message.to,
      threadId: message.threadId ?? null,
      route: message.route ?? null,
    }
    const sessionKey = resolveSessionKey(account, message, agent)
    const spec: RunSpec = {
      message: message.text,
      origin: { kind: 'channel', name: channel, trusted: true },
      senderName: message.from.name?.trim().slice(0, longestName) || undefined,
      deliver: {
        channel,
        to: message.to,
        accountId: account.accountId,
        threadId: message.threadId,
        route: message.route,
      },
      wakeMode: 'next-heartbeat',
    }
    const result = await accept({
      at,
      idempotency: {
        scope: `channel:${channel}:${account.accountId}`,
        key: message.id,
        bodyHash: createHash('sha256').update(message.text).digest('hex'),
        expiresAt: at + idempotencyMs,
        reply: '',
      },
      route: { sessionKey, agentId: agent.id, ...address },
      runs: [{ id: createId(), kind: 'channel', agentId: agent.id, sessionKey, spec, maxAttempts }],
    })
    if (result.outcome === 'accepted') routes.note(sessionKey, { ...address, at })
    // An edited message has its original id and counts as a duplicate.
    return result.outcome === 'accepted' ? 'accepted' : 'duplicate'
  }
}

/** Without a list no sender is allowed; `*` allows all. */
function isAllowed({ allowFrom }: Account, sender: string): boolean {
  return (
    allowFrom?.some((allowed) => allowed.trim() === '*' || allowed.trim().toLowerCase() === sender.toLowerCase()) ??
    false
  )
}

/** Direct messages go to the main session; a group has a session of its own. */
function resolveSessionKey(account: Account, message: InboundMessage, agent: InboundDeps['agent']): string {
  return message.group
    ? agentSessionKey(agent.id, `${account.channel.name}:${message.group}:${message.to}`)
    : agent.mainSession
}
