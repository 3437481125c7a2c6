// The endpoints that list deliveries and retry one.
import { channelName, type NamedChannels } from '../config/channels/names.ts'
import { GatewayError } from '../errors.ts'
import { type Principal, reaches } from '../http/access.ts'
import { failures } from '../http/failure.ts'
import type { Store, StoredDelivery } from '../store/store.ts'
import { Type } from '../typebox.ts'
import { content } from './content.ts'
import { type Endpoint, endpoint, found } from './endpoint.ts'
import { IdParams, iso, pageOf, pageQuery, pageRequest, Time, viewPage } from './lists.ts'

interface OutboxDeps {
  store: Pick<Store, 'listDeliveries' | 'getDelivery' | 'retryDelivery' | 'getRun'>
  extensions: { channels: NamedChannels }
  /** Notifies the outbox that there may be a delivery to send. */
  notify: () => void
}

export function outboxEndpoints({ store, extensions, notify }: OutboxDeps): Endpoint[] {
  async function find(id: string, principal: Principal) {
    const delivery = found(await store.getDelivery(id), 'delivery_not_found')
    const agentId = (await store.getRun(delivery.runId))?.agentId
    if (!reaches(principal, agentId)) throw new GatewayError('delivery_not_found')
    return { delivery, agentId }
  }

  return [
    endpoint({
      method: 'GET',
      path: '/api/outbox',
      access: { needs: 'read', scope: 'agents' },
      schema: { summary: 'Lists deliveries.', querystring: OutboxQuery, response: { 200: pageOf(Delivery) } },
      handle: async ({ query, principal }) => {
        const channel = query.channel === undefined ? undefined : channelName(extensions.channels, query.channel)
        return viewPage(
          await store.listDeliveries({ status: query.status, channel, agents: principal.agents }, pageRequest(query)),
          viewDelivery,
        )
      },
    }),
    endpoint({
      method: 'GET',
      path: '/api/outbox/:id',
      access: { needs: 'read', scope: 'agents' },
      schema: {
        summary: 'Returns a delivery.',
        params: IdParams,
        response: { 200: Delivery, ...failures(404) },
      },
      handle: async ({ params: { id }, principal }) => viewDelivery((await find(id, principal)).delivery),
    }),
    endpoint({
      method: 'POST',
      path: '/api/outbox/:id/retry',
      access: { needs: 'operate', scope: 'agents', action: 'delivery.retry' },
      schema: {
        summary: 'Retries a delivery whose status is `failed` or `unknown`.',
        params: IdParams,
        response: { 200: Retried, ...failures(404, 409) },
      },
      handle: async ({ params: { id }, principal, change }) => {
        const { delivery, agentId } = await find(id, principal)
        if (!delivery.to) throw new GatewayError('conflict', 'The delivery has no recipient, so it cannot be sent.')
        if (!(await store.retryDelivery(id, Date.now(), change(id, agentId))))
          throw new GatewayError(
            'conflict',
            `Only a failed or unknown delivery can be retried; the status of this one is ${delivery.status}.`,
          )
        notify()
        return { ok: true, deliveryId: id }
      },
    }),
  ]
}

export function viewDelivery({
  id,
  runId,
  channel,
  accountId,
  to,
  threadId,
  text,
  file,
  status,
  reason,
  attempt,
  nextAt,
  createdAt,
}: Omit<StoredDelivery, 'seq'>) {
  return {
    id,
    runId,
    channel,
    accountId,
    to,
    ...(threadId !== null && { threadId }),
    text,
    ...(file && { file: { name: file.name, type: file.type } }),
    status,
    ...(reason !== null && { reason }),
    attempts: attempt,
    ...(status === 'pending' && { nextAt: iso(nextAt) }),
    createdAt: iso(createdAt),
  }
}

const Status = Type.Enum(['pending', 'sending', 'sent', 'failed', 'unknown', 'skipped'])

const OutboxQuery = Type.Object({ ...pageQuery, status: Type.Optional(Status), channel: Type.Optional(Type.String()) })

const Retried = Type.Object({ ok: Type.Literal(true), deliveryId: Type.String() })

/** The schema of a delivery. */
export const Delivery = Type.Object({
  id: Type.String(),
  runId: Type.String(),
  channel: Type.String(),
  accountId: Type.String(),
  to: Type.String(),
  threadId: Type.Optional(Type.String()),
  text: Type.Optional(Type.String(content)),
  file: Type.Optional(
    Type.Object(
      { name: Type.String(), type: Type.String({ description: 'Media type.' }) },
      { description: 'The file that is sent with the text.', ...content },
    ),
  ),
  status: Status,
  reason: Type.Optional(Type.String({ description: 'Why the delivery was not sent, or not yet.' })),
  attempts: Type.Integer(),
  nextAt: Type.Optional(Time('The earliest time of the next attempt.')),
  createdAt: Time(),
})
