// The channel of the mailbox double, with a fault of choice: the channel contract must find each of them.
import { setTimeout as delay } from 'node:timers/promises'
import {
  AuthError,
  type ChannelContext,
  defineChannel,
  type InboundMessage,
  type MessageChoice,
  type OutboundMessage,
  type SendResult,
  Type,
} from '../../core/plugin/plugin.ts'
import { resultOfError, resultOfResponse } from '../../core/kit/kit.ts'
import type { Entry, MailboxConfig, Posted } from '../doubles/mailbox.ts'

export type Fault =
  | 'accepts any credentials'
  | 'changes the name of a file'
  | 'counts 5xx as certain failure'
  | 'cuts long texts'
  | 'drops the thread of a received message'
  | 'drops the thread when it sends'
  | 'does not mark groups'
  | 'does not mark mentions'
  | 'does not offer files'
  | 'does not wait for receive'
  | 'cuts the text of choices'
  | 'drops choices'
  | 'drops the caption of a file'
  | 'drops the file when it sends'
  | 'forgets the wait time of a rate limit'
  | 'gives presses the id of the message'
  | 'gives the wait time of a rate limit in seconds'
  | 'has the text in the detail'
  | 'has the token in the detail'
  | 'has the token in the log'
  | 'has unstable ids'
  | 'ignores presses'
  | 'keeps choices'
  | 'leaves a timer after close'
  | 'offers files that cannot be read'
  | 'polls on after close'
  | 'reads files before it hands them over'
  | 'receives edits as new messages'
  | 'receives the label of a choice'
  | 'receives inside connect'
  | 'receives its own messages'
  | 'retries 400'
  | 'sends again after 400'
  | 'sends again after a lost answer'
  | 'sends files as text'
  | 'sends files without bytes'
  | 'sends to everybody'
  | 'starts from the newest message'
  | 'stops after a loss'
  | 'stops if receive takes long'
  | 'stores the cursor before receive'
  | 'swallows the error of receive'
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
    limits: { maxText: 500, idempotency: 'none', maxFileBytes: 1_000_000, maxChoices: 3 },
    async connect(config, context) {
      const call = createCall(config)
      if (fault === 'has the token in the log') context.log.debug({ config }, 'connecting')
      if (fault === 'leaves a timer after close') setTimeout(() => undefined, 2000)
      const { status } = await call('/account')
      if (status === 401 && fault !== 'accepts any credentials') throw new AuthError('The token is refused.')
      const stop = new AbortController()
      const feed = createFeed(call, context, { fault, signal: stop.signal })
      if (fault === 'receives inside connect') await feed.catchUp()
      const polling = feed.poll()
      return {
        send: (message) => send(call, message, { fault, token: config.token }),
        async removeChoices({ id }) {
          if (fault !== 'keeps choices') await call(`/messages/${id}/choices`, { method: 'DELETE' })
        },
        async close() {
          if (fault === 'polls on after close') return
          if (fault !== 'waits for the poll in close') stop.abort()
          await polling
        },
      }
    },
  })

type Call = (path: string, options?: { body?: object; method?: 'DELETE'; signal?: AbortSignal }) => Promise<Response>

const createCall =
  ({ url, token }: MailboxConfig): Call =>
  (path, { body, method, signal } = {}) =>
    fetch(`${url}${path}`, {
      headers: { authorization: `Bearer ${token}` },
      ...(method && { method }),
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })

async function send(
  call: Call,
  message: OutboundMessage,
  { fault, token }: { fault: Fault | undefined; token: string },
): Promise<SendResult> {
  const { text } = message
  const body = bodyOf(message, fault)
  const extra = { 'has the token in the detail': ` (${token})`, 'has the text in the detail': ` (${text})` }
  const explain = (detail: string) => `${detail}${(fault && (extra as Record<string, string>)[fault]) ?? ''}`
  try {
    const response = await call('/messages', { body })
    const id = await response.text()
    if (response.ok) return { outcome: 'sent', id }
    const result = resultOfResponse(response)
    if (fault === 'counts 5xx as certain failure' && response.status >= 500)
      return { outcome: 'failed', reason: 'transient', detail: result.detail }
    if (fault === 'retries 400' && response.status === 400)
      return { outcome: 'failed', reason: 'transient', detail: result.detail }
    if (fault === 'sends again after 400' && response.status === 400) await call('/messages', { body })
    if (fault === 'gives the wait time of a rate limit in seconds')
      return { ...result, retryAfterMs: Number(response.headers.get('retry-after')) } as SendResult
    if (fault === 'forgets the wait time of a rate limit') return { ...result, retryAfterMs: 1 } as SendResult
    return { ...result, detail: explain(result.detail) }
  } catch (error) {
    const result = resultOfError(error)
    if (fault === 'sends again after a lost answer') return await call('/messages', { body }).then(() => result)
    return { ...result, detail: explain(result.detail) }
  }
}

function bodyOf({ to, text, threadId, file, choices }: OutboundMessage, fault: Fault | undefined): Posted {
  const data = {
    'sends files as text': Buffer.from(Buffer.from(file?.data ?? []).toString()),
    'sends files without bytes': Buffer.alloc(0),
  }
  const bytes = (fault && (data as Record<string, Buffer>)[fault]) ?? Buffer.from(file?.data ?? [])
  const caption = fault === 'drops the caption of a file' && file ? '' : text
  return {
    to: fault === 'sends to everybody' ? 'all' : to,
    text: fault === 'cuts long texts' ? caption.slice(0, 300) : caption,
    ...(threadId !== undefined && fault !== 'drops the thread when it sends' && { thread: threadId }),
    ...(choices && fault !== 'drops choices' && { choices: choices.map((choice) => cutChoice(choice, fault)) }),
    ...(file &&
      fault !== 'drops the file when it sends' && {
        file: { name: fault === 'changes the name of a file' ? 'file' : file.name, data: bytes.toString('base64') },
      }),
  }
}

const cutChoice = ({ label, text }: MessageChoice, fault: Fault | undefined): MessageChoice => ({
  label,
  text: fault === 'cuts the text of choices' ? text.slice(0, 20) : text,
})

interface FeedOptions {
  fault: Fault | undefined
  /** Ends the reading. */
  signal: AbortSignal
}

function createFeed(call: Call, { receive, state, lost }: ChannelContext, { fault, signal }: FeedOptions) {
  let cursor = 0
  const store = (number: number) => state.set('cursor', (cursor = number))
  const take = async (entry: Entry): Promise<void> => {
    if (entry.edits !== undefined && fault !== 'receives edits as new messages') return store(entry.number)
    if (entry.picked && fault === 'ignores presses') return store(entry.number)
    if (entry.from === 'me' && fault !== 'receives its own messages') return store(entry.number)
    if (fault === 'stores the cursor before receive') await store(entry.number)
    const stored = receive({ ...messageOf(entry, fault), ...(await attachmentsOf(call, entry, fault)) })
    if (fault === 'does not wait for receive') stored.catch(() => undefined)
    else if (fault === 'swallows the error of receive') await stored.catch(() => undefined)
    else if (fault === 'stops if receive takes long') await Promise.race([stored, delay(20).then(fail)])
    else await stored
    await store(entry.number)
  }

  async function read(): Promise<void> {
    const response = await call(`/feed?after=${cursor}`, { signal })
    for (const entry of (await response.json()) as Entry[]) await take(entry)
  }

  return {
    /** Reads what has been said already. */
    async catchUp(): Promise<void> {
      cursor = Number((await state.get('cursor')) ?? -1)
      if (cursor >= 0) await read()
    },
    /** Reads until `signal` aborts. */
    async poll(): Promise<void> {
      cursor = Number((await state.get('cursor')) ?? 0)
      if (fault === 'starts from the newest message') cursor = 1e9
      while (!signal.aborted) {
        try {
          await read()
        } catch (error) {
          if (signal.aborted || fault === 'stops if receive takes long') return
          if (error instanceof TypeError)
            return fault === 'stops after a loss' ? undefined : lost('The feed has ended.')
          await delay(1)
        }
      }
    },
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
    return {
      attachments: files.map(({ path, ...file }) => ({
        ...file,
        ...(fault !== 'offers files that cannot be read' && { read: (signal) => call(path, { signal }) }),
      })),
    }
  const [{ path, ...file } = { path: '', name: '', type: '' }] = files
  const data = await (await call(path)).bytes()
  return { attachments: [{ ...file, read: async () => [data] }] }
}

const idOf = ({ number, picked }: Entry, fault: Fault | undefined): string => {
  if (fault === 'has unstable ids') return `${number}:${Math.random()}`
  return picked && fault === 'gives presses the id of the message' ? `picked:${picked.message}` : String(number)
}

const textOf = ({ text, picked }: Entry, fault: Fault | undefined): string => {
  if (!picked) return text
  return fault === 'receives the label of a choice' ? picked.label : picked.text
}

const messageOf = (entry: Entry, fault: Fault | undefined) => {
  const { from, thread, group, mentioned } = entry
  return {
    id: idOf(entry, fault),
    from: { id: from },
    to: group ? 'room' : from,
    text: textOf(entry, fault),
    ...(thread !== undefined && fault !== 'drops the thread of a received message' && { threadId: thread }),
    ...(group && fault !== 'does not mark groups' && { group: 'group' as const }),
    ...(mentioned && fault !== 'does not mark mentions' && { mentioned }),
  }
}
