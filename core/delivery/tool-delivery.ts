// Sends messages on behalf of tools: resolves the recipient and stores the message in the outbox.
import { type DeliveryReceipt, type DeliveryRequest, InputError } from '../plugin.ts'
import type { Recipient } from '../store/run-spec.ts'
import type { AcceptCommand, AcceptResult, Store } from '../store/store.ts'
import type { Address, Recipients } from './recipient.ts'

export interface ToolDelivery {
  /** Resolves when the message is stored. Throws `InputError` if it has no recipient. */
  send(request: DeliveryRequest, sender: Sender): Promise<DeliveryReceipt>
  /** Resolves where a request from this session would go now. Throws `InputError` if it has no recipient. */
  resolve(request: Omit<DeliveryRequest, 'text'>, sessionKey: string): Promise<Address>
  /** Whether a message would go to the recipient of the run's reply. */
  isReplyRoute(request: Omit<DeliveryRequest, 'text'>, run: ReplyRun): Promise<boolean>
}

export interface ReplyRun {
  sessionKey: string
  /** Recipient of the reply; null: there is none. */
  reply: Recipient | null
  /** True: the run answers the session, so the session's last route counts as well. */
  answersSession: boolean
}

export interface Sender {
  sessionKey: string
  /** The run that sends it. Absent: a client over HTTP. */
  runId?: string | undefined
}

interface ToolDeliveryDeps {
  store: Pick<Store, 'getLastRoute'>
  recipients: Pick<Recipients, 'resolve'>
  accept(command: AcceptCommand): Promise<AcceptResult>
  onDeliveries: () => void
  createId: () => string
}

/** Maximum length of a message, in characters. */
const maxTextLength = 100_000

export function createToolDelivery({
  store,
  recipients,
  accept,
  onDeliveries,
  createId,
}: ToolDeliveryDeps): ToolDelivery {
  const resolve: ToolDelivery['resolve'] = async (request, sessionKey) => {
    const found = await recipients.resolve(await findRecipient(request, sessionKey))
    if ('address' in found) return found.address
    throw new InputError(found.reason)
  }

  /** The session's own last route takes precedence. `last` means the last route of the main session. */
  const findRecipient = async (request: Omit<DeliveryRequest, 'text'>, sessionKey: string): Promise<Recipient> => {
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
    resolve,
    isReplyRoute: async (request, { sessionKey, reply, answersSession }) => {
      const address = await resolve(request, sessionKey)
      const [ofReply, ofSession] = await Promise.all([
        reply && recipients.resolve(reply),
        answersSession ? store.getLastRoute(sessionKey, address.channel) : undefined,
      ])
      return [ofReply && 'address' in ofReply ? ofReply.address : undefined, ofSession].some(
        (own) => own && isSameRecipient(own, address),
      )
    },
    send: async (request, { sessionKey, runId = '' }) => {
      if (request.text.trim() === '') throw new InputError('text is blank.')
      if (request.text.length > maxTextLength)
        throw new InputError(`text may have at most ${maxTextLength} characters.`)
      const address = await resolve(request, sessionKey)
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

/** Ignores the thread, because the same people read all threads of a recipient. */
const isSameRecipient = (one: Omit<Address, 'route'>, other: Address): boolean =>
  one.channel === other.channel && one.accountId === other.accountId && one.to === other.to
