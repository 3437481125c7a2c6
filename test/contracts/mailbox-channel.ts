// The channel of the mailbox double, with a fault of choice: the channel contract must find each of them.
import { setTimeout as delay } from 'node:timers/promises'
import {
  AuthError,
  type ChannelContext,
  defineChannel,
  type InboundMessage,
  type OutboundMessage,
  type SendResult,
  Type,
} from '../../core/plugin/plugin.ts'
import { resultOfError, resultOfResponse } from '../../core/kit/kit.ts'
import type { Entry, MailboxConfig } from '../doubles/mailbox.ts'

export type Fault =
  | 'accepts any credentials'
  | 'cuts long texts'
  | 'does not mark groups'
  | 'does not mark mentions'
  | 'does not offer files'
  | 'does not wait for receive'
  | 'forgets the wait time of a rate limit'
  | 'has the text in the detail'
  | 'has the token in the detail'
  | 'has the token in the log'
  | 'has unstable ids'
  | 'leaves a timer after close'
  | 'polls on after close'
  | 'reads files before it hands them over'
  | 'receives its own messages'
  | 'sends again after a lost answer'
  | 'starts from the newest message'
  | 'stops after a loss'
  | 'stops if receive takes long'
  | 'stores the cursor before receive'
  | 'waits for the poll in close'

export const mailboxChannel = (fault?: Fault) =>
  defineChannel<MailboxConfig>({
    name: 'mailbox',
    description: 'Messages of the mailbox double.',
    config: Type.Object({
      url: Type.String({ description: 'Where it answers.' }),
      token: Type.String({ secret: true, description: 'The credential.' }),
    }),
    target: Type.String({ pattern: String.raw`^\w+$`, description: 'A name.' }),
    limits: { maxText: 500, idempotency: 'none' },
    async connect(config, context) {
      const call = createCall(config)
      if (fault === 'has the token in the log') context.log.debug({ config }, 'connecting')
      if (fault === 'leaves a timer after close') setTimeout(() => undefined, 2000)
      const { status } = await call('/account')
      if (status === 401 && fault !== 'accepts any credentials') throw new AuthError('The token is refused.')
      const stop = new AbortController()
      const polling = poll(call, context, { fault, signal: stop.signal })
      return {
        send: (message) => send(call, message, { fault, token: config.token }),
        async close() {
          if (fault === 'polls on after close') return
          if (fault !== 'waits for the poll in close') stop.abort()
          await polling
        },
      }
    },
  })

type Call = (path: string, options?: { body?: object; signal?: AbortSignal }) => Promise<Response>

const createCall =
  ({ url, token }: MailboxConfig): Call =>
  (path, { body, signal } = {}) =>
    fetch(`${url}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })

async function send(
  call: Call,
  { to, text }: OutboundMessage,
  { fault, token }: { fault: Fault | undefined; token: string },
): Promise<SendResult> {
  const body = { to, text: fault === 'cuts long texts' ? text.slice(0, 300) : text }
  const extra = { 'has the token in the detail': ` (${token})`, 'has the text in the detail': ` (${text})` }
  const explain = (detail: string) => `${detail}${(fault && (extra as Record<string, string>)[fault]) ?? ''}`
  try {
    const response = await call('/messages', { body })
    await response.arrayBuffer()
    if (response.ok) return { outcome: 'sent' }
    const result = resultOfResponse(response)
    if (fault === 'forgets the wait time of a rate limit') return { ...result, retryAfterMs: 1 } as SendResult
    return { ...result, detail: explain(result.detail) }
  } catch (error) {
    const result = resultOfError(error)
    if (fault === 'sends again after a lost answer') return await call('/messages', { body }).then(() => result)
    return { ...result, detail: explain(result.detail) }
  }
}

/** Reads the feed until `signal` aborts. */
async function poll(
  call: Call,
  { receive, state, lost }: ChannelContext,
  { fault, signal }: { fault: Fault | undefined; signal: AbortSignal },
): Promise<void> {
  let cursor = Number((await state.get('cursor')) ?? 0)
  const store = (number: number) => state.set('cursor', (cursor = number))
  if (fault === 'starts from the newest message') cursor = 1e9

  const take = async (entry: Entry): Promise<void> => {
    if (entry.from === 'me' && fault !== 'receives its own messages') return store(entry.number)
    if (fault === 'stores the cursor before receive') await store(entry.number)
    const stored = receive({ ...messageOf(entry, fault), ...(await attachmentsOf(call, entry, fault)) })
    if (fault === 'does not wait for receive') stored.catch(() => undefined)
    else if (fault === 'stops if receive takes long') await Promise.race([stored, delay(20).then(fail)])
    else await stored
    await store(entry.number)
  }

  while (!signal.aborted) {
    try {
      const response = await call(`/feed?after=${cursor}`, { signal })
      for (const entry of (await response.json()) as Entry[]) await take(entry)
    } catch (error) {
      if (signal.aborted || fault === 'stops if receive takes long') return
      if (error instanceof TypeError) return fault === 'stops after a loss' ? undefined : lost('The feed has ended.')
      await delay(1)
    }
  }
}

const fail = (): never => {
  throw new Error('receive takes too long')
}

async function attachmentsOf(
  call: Call,
  { files }: Entry,
  fault: Fault | undefined,
): Promise<Pick<InboundMessage, 'attachments'>> {
  if (!files || fault === 'does not offer files') return {}
  if (fault !== 'reads files before it hands them over')
    return { attachments: files.map(({ path, ...file }) => ({ ...file, read: (signal) => call(path, { signal }) })) }
  const [{ path, ...file } = { path: '', name: '', type: '' }] = files
  const data = await (await call(path)).bytes()
  return { attachments: [{ ...file, read: async () => [data] }] }
}

const messageOf = ({ number, from, text, group, mentioned }: Entry, fault: Fault | undefined) => ({
  id: fault === 'has unstable ids' ? `${number}:${Math.random()}` : String(number),
  from: { id: from },
  to: group ? 'room' : from,
  text,
  ...(group && fault !== 'does not mark groups' && { group: 'group' as const }),
  ...(mentioned && fault !== 'does not mark mentions' && { mentioned }),
})
