// The outbox: claims deliveries from the store, in order for each recipient, sends them, and records the outcome.
import { setTimeout as delay } from 'node:timers/promises'
import { describeError, describeThrown } from '../../errors.ts'
import { createExtensionLog } from '../../loader/extension-log.ts'
import { clip } from '../../kit/text.ts'
import type { Log } from '../../plugin/plugin.ts'
import { createPoller } from '../../store/poller.ts'
import { catchUp, type Replicas } from '../../store/replicas.ts'
import { workTopics } from '../../store/commits/work-messages.ts'
import { retryUntilStored } from '../../store/retry-until-stored.ts'
import type { Recipient } from '../../store/run-spec.ts'
import type { AccountRef, DeliveryEnd, NewEvent, Store, StoredDelivery } from '../../store/store.ts'
import type { Connections } from '../connections/connections.ts'
import type { Recipients } from '../recipient.ts'
import type { CreateFailureEvent, Undelivered } from './failure-event.ts'
import { longestReason } from './late-failures.ts'
import { createPacing } from './pacing.ts'
import { removeChoices } from './remove-choices.ts'
import {
  type AttemptEnd,
  defaultLimits,
  interrupted,
  type OutboxLimits,
  type ReadFile,
  sendDelivery,
  waitForAccount,
} from './send-delivery.ts'

export interface Outbox {
  /** Looks for deliveries that are due. */
  notify(): void
  /** Recovers the deliveries of an account that another gateway has lost to this one. */
  takeOver(account: AccountRef): void
  /** Recovers the deliveries of an earlier process, then starts sending. */
  resume(): Promise<void>
  /** Sends what is due for at most `ms`, then stops. The rest is sent after the next start. */
  close(ms: number): Promise<void>
}

interface OutboxDeps {
  store: Store
  connections: Pick<Connections, 'get' | 'listElsewhere'>
  owner: string
  /** Resolves a recipient that was not resolved when the delivery was stored. */
  resolve: Recipients['resolve']
  /** Creates the event that is stored when a delivery has finally failed. */
  createFailureEvent: CreateFailureEvent
  /** Called when such an event is stored. */
  onEvent(event: NewEvent): void
  readFile: ReadFile
  /** Called when the end of an attempt is stored. */
  onAttempt?: ((delivery: StoredDelivery, end: DeliveryEnd, startedAt: number) => Promise<void>) | undefined
  /** Removes secrets from what a channel says: a platform may repeat the credential that it refuses. */
  redact(text: string): string
  limits?: OutboxLimits
  /** The other gateways on the same store, if it is shared. */
  replicas?: Replicas | undefined
  log: Log
}

const maxParallel = 16
const leaseMs = 120_000
/** In a shared store. Also the longest delay of a delivery about which a message was lost. */
const recoverEveryMs = 5_000
const paused = 'The platform limits the account.'
const failed = 'The gateway failed while sending, so it is unknown whether the delivery arrived.'

export function createOutbox({
  store,
  connections,
  owner,
  limits = defaultLimits,
  replicas,
  log,
  ...deps
}: OutboxDeps): Outbox {
  const pacing = createPacing(limits.longestBackoffMs)
  const sending = new Set<Promise<void>>()
  let hasStarted = false
  let isClosing = false
  let recovery: NodeJS.Timeout | undefined

  const claim = async (): Promise<void> => {
    const max = maxParallel - sending.size
    if (max <= 0) return
    const elsewhere = connections.listElsewhere()
    const except = elsewhere.length > 0 ? elsewhere : undefined
    const claimed = await store.claimDeliveries({ owner, max, except, at: Date.now(), leaseMs })
    if (isClosing) return await release(claimed)
    for (const delivery of claimed) start(delivery)
    if (claimed.length === max) return
    const next = await store.getNextDeliveryAt(except)
    // It may have become due since the claim.
    if (next !== undefined) poller.notifyIn(Math.min(Math.max(0, next - Date.now()), limits.longestBackoffMs))
  }
  const poller = createPoller({ claim, retryMs: limits.firstBackoffMs, log })

  /** Releases deliveries that were claimed during the stop and not sent. An uncertain delivery stays uncertain. */
  const release = async (deliveries: readonly StoredDelivery[]): Promise<void> => {
    const reason = 'The gateway stopped before it was sent.'
    for (const { id, fencingToken, uncertain } of deliveries)
      await store.endDelivery(id, fencingToken, { status: 'retry', reason, nextAt: 0, uncertain }, Date.now())
  }

  const start = (delivery: StoredDelivery): void => {
    const { id: deliveryId, channel, accountId } = delivery
    const done = attempt(delivery)
      .catch(async (error: Error) => {
        log.error({ channel, accountId, deliveryId, ...describeError(error) }, 'could not record a delivery')
        if (!isClosing) await giveUp(delivery)
      })
      .catch(() => undefined)
      .finally(() => {
        sending.delete(done)
        poller.notify()
      })
    sending.add(done)
  }

  // A message that was sent cannot be undone, so its outcome is retried until the store is available.
  const patience = { everyMs: limits.firstBackoffMs, isGivenUp: () => isClosing }

  const attempt = async (delivery: StoredDelivery): Promise<void> => {
    const { reason, uncertain } = delivery
    const pausedUntil = pacing.pausedUntil(delivery)
    if (pausedUntil !== undefined)
      return await storeEnd(delivery, { status: 'retry', reason: reason ?? paused, nextAt: pausedUntil, uncertain })
    if (delivery.wanted) return await storeEnd(delivery, await findAddress(delivery, delivery.wanted))
    const startedAt = Date.now()
    const end = await send(delivery)
    await storeEnd(delivery, end)
    await deps.onAttempt?.(delivery, end, startedAt)
    if (end.status === 'sent' && delivery.endsChoicesOf !== null) await endChoices(delivery.endsChoicesOf)
  }

  /** The next attempt sends it, maybe from another gateway. */
  const findAddress = async (delivery: StoredDelivery, wanted: Recipient): Promise<DeliveryEnd> => {
    const found = await retryUntilStored(() => deps.resolve(wanted), patience)
    if ('address' in found)
      return { status: 'retry', reason: delivery.reason ?? '', nextAt: 0, uncertain: false, address: found.address }
    return found.isMissing ? waitForAccount(delivery, limits, found.reason) : { status: 'failed', reason: found.reason }
  }

  const endChoices = async (id: string): Promise<void> => {
    const ended = await store.getDelivery(id)
    if (!ended) return
    const { channel, accountId } = ended
    const link = connections.get(channel, accountId)
    const extensionLog = createExtensionLog(log, { channel, accountId, deliveryId: id })
    await removeChoices(ended, { link, timeoutMs: limits.sendMs, log: extensionLog })
  }

  const storeEnd = async (delivery: StoredDelivery, end: DeliveryEnd): Promise<void> => {
    const { id, fencingToken } = delivery
    if (end.status === 'sent' || end.status === 'retry')
      return void (await retryUntilStored(() => store.endDelivery(id, fencingToken, end, Date.now()), patience))
    const event = await createEvent(delivery, end)
    const ended = { ...end, event }
    const isEnded = await retryUntilStored(() => store.endDelivery(id, fencingToken, ended, Date.now()), patience)
    if (isEnded && event) deps.onEvent(event)
  }

  /** Whatever went wrong, the delivery must not keep those behind it waiting. */
  const giveUp = async ({ id, fencingToken }: StoredDelivery): Promise<void> => {
    await store.endDelivery(id, fencingToken, { status: 'unknown', reason: failed }, Date.now())
  }

  /** Without its event if that cannot be made: the delivery must end. */
  const createEvent = async (delivery: StoredDelivery, end: Undelivered): Promise<NewEvent | undefined> => {
    try {
      return await retryUntilStored(() => deps.createFailureEvent(delivery, end), patience)
    } catch (error) {
      // The next start makes it.
      if (isClosing) throw error
      log.error({ deliveryId: delivery.id, ...describeError(error) }, 'the event of a failed delivery was not made')
      return undefined
    }
  }

  const sendNow = async (delivery: StoredDelivery): Promise<AttemptEnd> => {
    const { id, fencingToken, channel, accountId } = delivery
    return await sendDelivery(delivery, {
      link: connections.get(channel, accountId),
      limits,
      advance: (chunksSent, platformId) =>
        retryUntilStored(() => store.advanceDelivery(id, fencingToken, { chunksSent, platformId }), patience),
      readFile: deps.readFile,
      log: createExtensionLog(log, { channel, accountId, deliveryId: id }),
    })
  }

  const send = async (delivery: StoredDelivery): Promise<DeliveryEnd> => {
    const { id, channel, accountId } = delivery
    const fields = { channel, accountId, deliveryId: id }
    const { isLimited = false, ...given } = await sendNow(delivery).catch((error: unknown): AttemptEnd => {
      if (isClosing) throw error
      log.error({ ...fields, ...describeThrown(error) }, 'sending failed')
      return { status: 'unknown', reason: failed }
    })
    const end = given.status === 'sent' ? given : { ...given, reason: clip(deps.redact(given.reason), longestReason) }
    if (end.status === 'sent') pacing.accepted(delivery)
    else log.warn({ ...fields, status: end.status, reason: end.reason }, 'delivery not sent')
    if (isLimited && end.status === 'retry' && pacing.limited(delivery, end.nextAt))
      log.warn({ channel, accountId }, 'the platform limits the account; its deliveries wait')
    return end
  }

  /** Resolves when no delivery is being sent and none is due. */
  const drained = async (): Promise<void> => {
    poller.notify()
    await poller.settled()
    while (sending.size > 0) {
      await Promise.race(sending)
      await poller.settled()
    }
  }

  /** Their outcome is unknown: the gateway that sent them has died, or the answer of a claim was lost. */
  const recoverExpired = async (takenOver?: AccountRef): Promise<void> => {
    const account = takenOver && { ...takenOver, owner }
    for (const { id, fencingToken } of await store.recoverExpiredDeliveries(Date.now(), account)) {
      const end = { status: 'retry', reason: interrupted, nextAt: 0, uncertain: true } as const
      await store.endDelivery(id, fencingToken, end, Date.now())
    }
  }

  /** Sends what other gateways have stored, and what they have left behind. */
  const shareWith = (others: Replicas): void => {
    others.subscribe(workTopics.outbox, poller.notify)
    others.subscribe(catchUp, poller.notify)
    // An outage is logged by the poller.
    recovery = setInterval(() => void recoverExpired().then(poller.notify, () => undefined), recoverEveryMs).unref()
  }

  return {
    notify: poller.notify,
    // If it fails, the leases of these deliveries expire.
    takeOver: (account) => void recoverExpired(account).then(poller.notify, () => undefined),
    resume: async () => {
      await recoverExpired()
      hasStarted = true
      if (replicas) shareWith(replicas)
      poller.notify()
    },
    close: async (ms) => {
      clearInterval(recovery)
      // A gateway that could not start has nothing to send, and maybe no store.
      if (hasStarted) await Promise.race([drained(), delay(ms, undefined, { ref: false })])
      isClosing = true
      await poller.close()
    },
  }
}
