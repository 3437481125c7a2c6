// Watches a mailbox: asks Gmail for notifications, and reads the mailbox after each one and from time to time.
import { setTimeout as delay } from 'node:timers/promises'
import { AuthError, type PresetContext, type PresetJob } from 'svc-gateway/plugin'
import { readCredentials } from './credentials.ts'
import { hasStatus } from './google-error.ts'
import { createGoogle, type Google } from './google.ts'
import { createMailbox } from './mailbox.ts'
import { allowCommand } from './pubsub.ts'
import type { Watch } from './settings.ts'

/** Gmail ends a watch after seven days, and asks for a renewal every day. */
const renewalMs = (leftMs: number): number => Math.min(86_400_000, Math.max(leftMs / 2, 1000) || 86_400_000)
/** Pub/Sub answers an empty pull after a while, or at once. */
const pullPauseMs = 1000
const pullTimeoutMs = 120_000

export async function startWatch(watch: Watch, context: PresetContext): Promise<PresetJob> {
  const { topic, subscription, pollSeconds } = watch
  const { google, labelIds, read } = await openMailbox(watch, context)
  let expiresAt = topic && (await requestNotifications(google, { topic, labelIds }))
  await read()
  // A subscription that cannot be used is noticed now, and not after the job has started.
  if (subscription) await pull(google, { subscription, read, returnImmediately: true })
  const loops = [repeat(context, { step: read, pauseMs: () => pollSeconds * 1000 })]
  if (topic) {
    const renew = async () => (expiresAt = await requestNotifications(google, { topic, labelIds }))
    loops.push(repeat(context, { step: renew, pauseMs: () => renewalMs(Number(expiresAt) - Date.now()) }))
  }
  if (subscription)
    loops.push(repeat(context, { step: () => pull(google, { subscription, read }), pauseMs: () => pullPauseMs }))
  return {
    onWebhook: () => void read().catch((error: unknown) => context.signal.aborted || context.lost(error)),
    close: async () => void (await Promise.all(loops)),
  }
}

async function openMailbox(watch: Watch, context: PresetContext) {
  const { account, urls } = watch
  const { signal, log } = context
  const credentials = await readCredentials(watch.credentials)
  const google = await createGoogle({ credentials, account, urls, signal, log })
  await checkAccount(google, account)
  const labelIds = await findLabels(google, watch.labels)
  return { google, labelIds, read: coalesce(createMailbox({ ...context, google, watch, labelIds })) }
}

/** Repeats a step until the job ends. A failure ends the job. */
async function repeat(
  { signal, lost }: PresetContext,
  { step, pauseMs }: { step: () => Promise<unknown>; pauseMs: () => number },
): Promise<void> {
  try {
    while (!signal.aborted) {
      await delay(pauseMs(), undefined, { signal, ref: false })
      await step()
    }
  } catch (error) {
    if (!signal.aborted) lost(error)
  }
}

export async function checkAccount(google: Google, account: string): Promise<void> {
  const { emailAddress } = await google.gmail((users) => users.getProfile({ userId: 'me' }))
  if (emailAddress?.toLowerCase() !== account.toLowerCase())
    throw new AuthError(`The credentials belong to ${emailAddress}, not to ${account}; run "svc-gateway gmail setup".`)
}

/** Finds the ids of labels. Those of Gmail's own labels are their names. */
export async function findLabels(google: Google, wanted: readonly string[]): Promise<string[]> {
  const { labels = [] } = await google.gmail((users) => users.labels.list({ userId: 'me' }))
  return wanted.map((label) => {
    const found = labels.find(({ id, name }) => id === label || name?.toLowerCase() === label.toLowerCase())
    if (found?.id) return found.id
    throw new AuthError(`The mailbox has no label "${label}"; correct hooks.gmail.watch.labels.`)
  })
}

/** Returns when Gmail stops to send them, in Unix milliseconds. */
export async function requestNotifications(
  google: Google,
  { topic, labelIds }: { topic: string; labelIds: string[] },
): Promise<number> {
  const requestBody = { topicName: topic, labelIds, labelFilterBehavior: 'INCLUDE' }
  const { expiration } = await google
    .gmail((users) => users.watch({ userId: 'me', requestBody }))
    .catch((error: Error) => {
      throw hasStatus(error, 403) ? new Error(describeRefusal(error, topic)) : error
    })
  return Number(expiration)
}

const describeRefusal = ({ message }: Error, topic: string): string =>
  `${message.replace(/\.?$/, '.')} If Gmail may not publish to the topic, run: ${allowCommand(topic)}`

/** Notifications are confirmed after the mails are on disk. */
async function pull(
  google: Google,
  { subscription, read, ...options }: { subscription: string; read: () => Promise<void>; returnImmediately?: boolean },
): Promise<void> {
  const { receivedMessages = [] } = await google.pubsub<{ receivedMessages?: readonly { ackId: string }[] }>({
    path: `/v1/${subscription}:pull`,
    data: { maxMessages: 100, ...options },
    timeoutMs: pullTimeoutMs,
  })
  if (receivedMessages.length === 0) return
  await read()
  const ackIds = receivedMessages.map(({ ackId }) => ackId)
  await google.pubsub({ path: `/v1/${subscription}:acknowledge`, data: { ackIds } })
}

/** Runs one call at a time. Calls during a run share the next one, which begins after them. */
function coalesce(work: () => Promise<void>): () => Promise<void> {
  let current: Promise<void> | undefined
  let next: Promise<void> | undefined
  const run = async (): Promise<void> => {
    next = undefined
    try {
      await work()
    } finally {
      current = next
    }
  }
  return () => {
    if (!current) return (current = run())
    return (next ??= current.catch(() => undefined).then(() => (current = run())))
  }
}
