// The outbox: messages to send, sent or given up, and having one sent once more.
import { GatewayError } from '../errors.ts'
import { failures } from '../http/failure.ts'
import type { Store, StoredMessage } from '../store/store.ts'
import { Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { IdParams, iso, pageOf, pageQuery, pageRequest, Time, viewPage } from './lists.ts'

interface OutboxDeps {
  store: Pick<Store, 'listMessages' | 'getMessage' | 'retryMessage'>
  /** There may be something to send. */
  ring: () => void
}

export function outboxEndpoints({ store, ring }: OutboxDeps): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/api/outbox',
      schema: { summary: 'Lists messages of agents.', querystring: OutboxQuery, response: { 200: pageOf(Message) } },
      handle: async ({ query }) => viewPage(await store.listMessages(query, pageRequest(query)), viewMessage),
    }),
    endpoint({
      method: 'POST',
      path: '/api/outbox/:id/retry',
      schema: {
        summary: 'Sends a message once more that failed, or whose fate is unknown.',
        params: IdParams,
        response: { 200: Retried, ...failures(404, 409) },
      },
      handle: async ({ params: { id } }) => {
        const message = await store.getMessage(id)
        if (!message) throw new GatewayError('message_not_found')
        if (!message.to) throw new GatewayError('conflict', 'The message has no recipient, so it cannot be sent.')
        if (!(await store.retryMessage(id, Date.now())))
          throw new GatewayError('conflict', `Only a message that is failed or unknown is sent once more; this one is ${message.status}.`)
        ring()
        return { ok: true, messageId: id }
      },
    }),
  ]
}

export function viewMessage({ id, runId, channel, accountId, to, threadId, text, status, reason, attempt, nextAt, createdAt }: Omit<StoredMessage, 'seq'>) {
  return {
    id,
    runId,
    channel,
    accountId,
    to,
    ...(threadId !== null && { threadId }),
    text,
    status,
    ...(reason !== null && { reason }),
    attempts: attempt,
    ...(status === 'pending' && { nextAt: iso(nextAt) }),
    createdAt: iso(createdAt),
  }
}

const Status = Type.Enum(['pending', 'sending', 'sent', 'failed', 'unknown', 'skipped'])

const OutboxQuery = Type.Object({ ...pageQuery, status: Type.Optional(Status), channel: Type.Optional(Type.String()) })

const Retried = Type.Object({ ok: Type.Literal(true), messageId: Type.String() })

const Message = Type.Object({
  id: Type.String(),
  runId: Type.String(),
  channel: Type.String(),
  accountId: Type.String(),
  to: Type.String(),
  threadId: Type.Optional(Type.String()),
  text: Type.String(),
  status: Status,
  reason: Type.Optional(Type.String({ description: 'Why it was not sent, or not yet.' })),
  attempts: Type.Integer(),
  nextAt: Type.Optional(Time('When it is tried next, at the earliest.')),
  createdAt: Time(),
})
