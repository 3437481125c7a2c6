// Says something on a channel because a tool asks for it: the recipient is settled, the message is in the outbox, then
// it goes.
import { type DeliveryReceipt, type DeliveryRequest, InputError } from '../plugin.ts'
import type { Recipient } from '../store/run-spec.ts'
import type { AcceptCommand, AcceptResult, Store } from '../store/store.ts'
import type { Address, Recipients } from './recipient.ts'

export interface ToolDelivery {
  /** Resolves when the message is on disk. Throws `InputError` when it can go nowhere. */
  send(request: DeliveryRequest, sender: Sender): Promise<DeliveryReceipt>
  /** Settles where a request goes that comes from this session, as it is now. */
  settle(request: Omit<DeliveryRequest, 'text'>, sessionKey: string): Promise<Address>
  /** Whether a message would go where the reply of its run goes. */
  isReplyRoute(request: Omit<DeliveryRequest, 'text'>, run: ReplyRoutes): Promise<boolean>
}

export interface ReplyRoutes {
  sessionKey: string
  /** Where the reply goes; null: nowhere. */
  reply: Recipient | null
  /** True: the run answers the people of its session, so that their routes count, too. */
  answersSession: boolean
}

export interface Sender {
  sessionKey: string
  /** The run that sends it; absent: a client over HTTP does. */
  runId?: string | undefined
}

interface ToolDeliveryDeps {
  store: Pick<Store, 'getLastRoute'>
  recipients: Pick<Recipients, 'resolve'>
  accept(command: AcceptCommand): Promise<AcceptResult>
  onDeliveries: () => void
  createId: () => string
}

/** Longest message, in characters. */
const longestText = 100_000

export function createToolDelivery({
  store,
  recipients,
  accept,
  onDeliveries,
  createId,
}: ToolDeliveryDeps): ToolDelivery {
  const settle: ToolDelivery['settle'] = async (request, sessionKey) => {
    const found = await recipients.resolve(await recipientOf(request, sessionKey))
    if ('address' in found) return found.address
    throw new InputError(found.reason)
  }

  /** The session knows best whom it talks with; `last` is the main session's, as everywhere. */
  const recipientOf = async (request: Omit<DeliveryRequest, 'text'>, sessionKey: string): Promise<Recipient> => {
    const { to, accountId, threadId } = request
    const channel = request.channel?.trim()
    const own = channel === 'last' ? undefined : await store.getLastRoute(sessionKey, channel)
    if (!own || (to !== undefined && to.trim() !== own.to))
      return { channel: channel ?? own?.channel ?? 'last', to: to?.trim(), accountId, threadId }
    return {
      channel: own.channel,
      to: own.to,
      accountId: accountId ?? own.accountId,
      threadId: threadId ?? own.threadId ?? undefined,
      route: own.route,
    }
  }

  return {
    settle,
    isReplyRoute: async (request, { sessionKey, reply, answersSession }) => {
      const address = await settle(request, sessionKey)
      const [ofReply, ofSession] = await Promise.all([
        reply && recipients.resolve(reply),
        answersSession ? store.getLastRoute(sessionKey, address.channel) : undefined,
      ])
      return [ofReply && 'address' in ofReply ? ofReply.address : undefined, ofSession].some(
        (own) => own && isSameRecipient(own, address),
      )
    },
    send: async (request, { sessionKey, runId = '' }) => {
      if (request.text.trim() === '') throw new InputError('text is blank; there is nothing to say.')
      if (request.text.length > longestText) throw new InputError(`text may have at most ${longestText} characters.`)
      const address = await settle(request, sessionKey)
      const id = createId()
      await accept({
        at: Date.now(),
        deliveries: [{ id, runId, text: request.text, ...address, status: 'pending', reason: null }],
      })
      onDeliveries()
      return { id, channel: address.channel, to: address.to }
    },
  }
}

/** Threads of one recipient are read by the same people. */
const isSameRecipient = (one: Omit<Address, 'route'>, other: Address): boolean =>
  one.channel === other.channel && one.accountId === other.accountId && one.to === other.to
