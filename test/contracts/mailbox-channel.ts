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
  type UncertainMessage,
} from '../../core/plugin/plugin.ts'
import { resultOfError, resultOfResponse } from '../../core/kit/kit.ts'
import type { Entry, MailboxConfig, Posted } from '../doubles/mailbox.ts'

export type Fault =
  | 'adds the display name to the ids of a person'
  | 'cuts received texts'
  | 'does not look for files when it reconciles'
  | 'does not look into threads when it reconciles'
  | 'drops all but the first line of a received text'
  | 'drops files in groups'
  | 'drops quotes'
  | 'drops files in threads'
  | 'drops files without a text'
  | 'drops the thread of files that it sends'
  | 'drops the thread of messages in groups'
  | 'gives the sender as the recipient of a group'
  | 'does not follow redirects'
  | 'hands over only the first file'
  | 'sends its token wherever a redirect leads'
  | 'has a failed request in the log'
  | 'has received texts in the log'
  | 'has the token in the reason of a loss'
  | 'has the token in the route'
  | 'forgets the other ids of a person'
  | 'keeps its position in the module'
  | 'keeps its settings in the module'
  | 'loses a message of a burst'
  | 'makes ids of texts'
  | 'marks direct messages as those of a group'
  | 'mixes up messages that are sent at once'
  | 'names people by a number of the connection'
  | 'names people by their display name'
  | 'receives a page of messages at once'
  | 'receives edits in groups as new messages'
  | 'receives edits in threads as new messages'
  | 'replies to the newest conversation'
  | 'reverses what it has missed'
  | 'says absent while the platform is away'
  | 'says sent of any message'
  | 'says absent after an error of the platform'
  | 'stops at a message that the gateway ignores'
  | 'stops at a message that the gateway knows'
  | 'takes every message of a group for a mention'
  | 'takes forwards for own words'
  | 'takes quotes of others for its own'
  | 'takes 401 for an outage'
  | 'takes 404 for an outage'
  | 'takes 503 for a refusal'
  | 'takes an outage for refused credentials'
  | 'takes presses in groups for direct messages'
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
  | 'lets the platform make previews'
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
    limits: { maxText: 500, idempotency: 'reconcile', maxFileBytes: 1_000_000, maxChoices: 3 },
    async connect(config, context) {
      const call = createCall(fault === 'keeps its settings in the module' ? (shared.config ??= config) : config)
      if (fault === 'has the token in the log') context.log.debug({ config }, 'connecting')
      if (fault === 'leaves a timer after close') setTimeout(() => undefined, 2000)
      const { status } = await call('/account').catch((error: unknown) => {
        if (fault === 'takes an outage for refused credentials') throw new AuthError('The mailbox does not answer.')
        throw error
      })
      if (status === 401 && fault !== 'accepts any credentials') throw new AuthError('The token is refused.')
      const stop = new AbortController()
      const options = { fault, token: config.token, log: context.log }
      const feed = createFeed(call, context, { ...options, signal: stop.signal })
      if (fault === 'receives inside connect') await feed.catchUp()
      const polling = feed.poll()
      let current: OutboundMessage | undefined
      return {
        async send(message) {
          current = message
          if (fault === 'mixes up messages that are sent at once') await delay(1)
          const to = fault === 'replies to the newest conversation' ? (feed.newest() ?? message.to) : message.to
          const mixed = fault === 'mixes up messages that are sent at once' ? current : message
          return await send(call, { ...mixed, to }, options)
        },
        reconcile: (message) => reconcile(call, message, fault),
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

/** What a module should not keep. Cleared with `forgetShared`. */
const shared: { config?: MailboxConfig; cursor?: number } = {}

/** Forgets what the faulty channels keep in the module. */
export function forgetShared(): void {
  delete shared.config
  delete shared.cursor
}

type Call = (
  path: string,
  options?: { body?: object; method?: 'DELETE'; redirect?: 'manual'; signal?: AbortSignal },
) => Promise<Response>

const createCall =
  ({ url, token }: MailboxConfig): Call =>
  (path, { body, method, redirect, signal } = {}) =>
    fetch(new URL(path, url), {
      ...(redirect && { redirect }),
      headers: { authorization: `Bearer ${token}` },
      ...(method && { method }),
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })

interface SendOptions extends Pick<ChannelContext, 'log'> {
  fault: Fault | undefined
  token: string
}

/** After which status a faulty channel returns which reason. */
const wrongReasons: Partial<Record<Fault, readonly [status: number, reason: 'permanent' | 'transient']>> = {
  'retries 400': [400, 'transient'],
  'takes 401 for an outage': [401, 'transient'],
  'takes 404 for an outage': [404, 'transient'],
  'takes 503 for a refusal': [503, 'permanent'],
}

async function send(call: Call, message: OutboundMessage, { fault, token, log }: SendOptions): Promise<SendResult> {
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
    if (fault === 'has a failed request in the log') log.warn({ status: response.status, body }, 'a request failed')
    const [status, reason] = (fault && wrongReasons[fault]) ?? []
    if (reason && response.status === status) return { outcome: 'failed', reason, detail: result.detail }
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

async function reconcile(
  call: Call,
  { key, threadId, file }: UncertainMessage,
  fault: Fault | undefined,
): Promise<'sent' | 'absent'> {
  if (fault === 'says sent of any message') return 'sent'
  if (fault === 'does not look for files when it reconciles' && file) return 'absent'
  if (fault === 'does not look into threads when it reconciles' && threadId !== undefined) return 'absent'
  const response = await call(`/sent/${key}`).catch((error: unknown) => {
    if (fault !== 'says absent while the platform is away') throw error
  })
  if (response?.ok) return 'sent'
  const isAnswer = !response || response.status === 404 || fault === 'says absent after an error of the platform'
  if (!isAnswer) throw new Error(`The mailbox answered ${response.status}.`)
  return 'absent'
}

function bodyOf({ key, to, text, threadId, file, choices }: OutboundMessage, fault: Fault | undefined): Posted {
  const data = {
    'sends files as text': Buffer.from(Buffer.from(file?.data ?? []).toString()),
    'sends files without bytes': Buffer.alloc(0),
  }
  const bytes = (fault && (data as Record<string, Buffer>)[fault]) ?? Buffer.from(file?.data ?? [])
  const caption = fault === 'drops the caption of a file' && file ? '' : text
  const hasThread =
    fault !== 'drops the thread when it sends' && !(file && fault === 'drops the thread of files that it sends')
  return {
    key,
    to: fault === 'sends to everybody' ? 'all' : to,
    text: fault === 'cuts long texts' ? caption.slice(0, 300) : caption,
    previews: fault === 'lets the platform make previews',
    ...(threadId !== undefined && hasThread && { thread: threadId }),
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

interface FeedOptions extends SendOptions {
  /** Ends the reading. */
  signal: AbortSignal
}

function createFeed(call: Call, { receive, state, lost }: ChannelContext, options: FeedOptions) {
  const { fault, signal, token, log } = options
  const connection = Math.random()
  let cursor = 0
  let newest: string | undefined
  let isCatchingUp = false
  const store = (number: number) => state.set('cursor', (shared.cursor = cursor = number))
  const readCursor = async () =>
    Number((fault === 'keeps its position in the module' ? shared.cursor : await state.get('cursor')) ?? 0)

  async function take(entry: Entry): Promise<void> {
    if (isEdit(entry, fault)) return store(entry.number)
    if (entry.picked && fault === 'ignores presses') return store(entry.number)
    if (entry.from === 'me' && fault !== 'receives its own messages') return store(entry.number)
    if (entry.text === '' && entry.files && fault === 'drops files without a text') return store(entry.number)
    if (fault === 'stores the cursor before receive') await store(entry.number)
    if (fault === 'has received texts in the log') log.debug({ entry }, 'received')
    const message = messageOf(entry, { fault, connection, token })
    newest = message.to
    const stored = receive({ ...message, ...(await attachmentsOf(call, entry, fault)) })
    if (fault === 'does not wait for receive') stored.catch(() => undefined)
    else if (fault === 'swallows the error of receive') await stored.catch(() => undefined)
    else if (fault === 'stops if receive takes long') await Promise.race([stored, delay(20).then(fail)])
    else if (fault === 'stops at a message that the gateway ignores' && (await stored) === 'ignored') fail()
    else if (fault === 'stops at a message that the gateway knows' && (await stored) === 'duplicate') fail()
    else await stored
    await store(entry.number)
  }

  async function read(): Promise<void> {
    const response = await call(`/feed?after=${cursor}`, { signal })
    const entries = (await response.json()) as Entry[]
    const last = entries.at(-1)?.number ?? cursor
    if (fault === 'reverses what it has missed' && isCatchingUp) entries.reverse()
    if (fault === 'loses a message of a burst' && entries.length > 9) entries.splice(9, 1)
    if (fault === 'receives a page of messages at once') await Promise.all(entries.map(take))
    else for (const entry of entries) await take(entry)
    if (last !== cursor) await store(last)
    isCatchingUp = false
  }

  return {
    newest: () => newest,
    /** Reads what has been said already. */
    async catchUp(): Promise<void> {
      cursor = Number((await state.get('cursor')) ?? -1)
      if (cursor >= 0) await read()
    },
    /** Reads until `signal` aborts. */
    async poll(): Promise<void> {
      cursor = await readCursor()
      isCatchingUp = cursor > 0
      if (fault === 'starts from the newest message') cursor = 1e9
      while (!signal.aborted) {
        try {
          await read()
        } catch (error) {
          if (signal.aborted || fault === 'stops if receive takes long') return
          const reason = fault === 'has the token in the reason of a loss' ? `The feed of ${token}` : 'The feed'
          if (error instanceof TypeError)
            return fault === 'stops after a loss' ? undefined : lost(`${reason} has ended.`)
          await delay(1)
        }
      }
    },
  }
}

/** Only changes the text of another entry. */
function isEdit({ edits, group, thread }: Entry, fault: Fault | undefined): boolean {
  if (edits === undefined || fault === 'receives edits as new messages') return false
  if (fault === 'receives edits in groups as new messages') return !group
  return fault !== 'receives edits in threads as new messages' || thread === undefined
}

const fail = (): never => {
  throw new Error('receive takes too long')
}

async function attachmentsOf(
  call: Call,
  { files: all, group, thread }: Entry,
  fault: Fault | undefined,
): Promise<Pick<InboundMessage, 'attachments'>> {
  const files = fault === 'hands over only the first file' ? all?.slice(0, 1) : all
  if (!files || fault === 'does not offer files') return {}
  if (group && fault === 'drops files in groups') return {}
  if (thread !== undefined && fault === 'drops files in threads') return {}
  if (fault !== 'reads files before it hands them over')
    return {
      attachments: files.map(({ path, ...file }) => ({
        ...file,
        ...(fault !== 'offers files that cannot be read' && {
          read: (signal) => download(call, path, { fault, signal }),
        }),
      })),
    }
  const [{ path, ...file } = { path: '', name: '', type: '' }] = files
  const data = await (await call(path)).bytes()
  return { attachments: [{ ...file, read: async () => [data] }] }
}

/** By itself, `fetch` follows redirects, and sends the token only to the origin that it was for. */
async function download(
  call: Call,
  path: string,
  { fault, signal }: { fault: Fault | undefined; signal: AbortSignal },
) {
  const isFaulty = fault === 'does not follow redirects' || fault === 'sends its token wherever a redirect leads'
  const response = await call(path, { signal, ...(isFaulty && { redirect: 'manual' }) })
  const location = response.headers.get('location')
  return fault === 'sends its token wherever a redirect leads' && location !== null
    ? await call(location, { signal })
    : response
}

const idOf = ({ number, text, picked }: Entry, fault: Fault | undefined): string => {
  if (fault === 'has unstable ids') return `${number}:${Math.random()}`
  if (fault === 'makes ids of texts' && !picked) return `text:${text}`
  return picked && fault === 'gives presses the id of the message' ? `picked:${picked.message}` : String(number)
}

const textOf = ({ text, picked }: Entry, fault: Fault | undefined): string => {
  if (!picked && fault === 'cuts received texts') return text.slice(0, 1000)
  if (!picked && fault === 'drops all but the first line of a received text') return text.split('\n', 1)[0] ?? ''
  if (!picked) return text
  return fault === 'receives the label of a choice' ? picked.label : picked.text
}

interface Naming {
  fault: Fault | undefined
  /** Another one for each connection. */
  connection: number
  token: string
}

function senderOf({ from, name, phone }: Entry, { fault, connection }: Naming): InboundMessage['from'] {
  const id = {
    'names people by their display name': name,
    'names people by a number of the connection': `${from}:${connection}`,
  }
  const nameAsId = fault === 'adds the display name to the ids of a person' && name !== undefined
  const otherIds = [...(phone === undefined ? [] : [phone]), ...(nameAsId ? [name] : [])]
  if (fault === 'forgets the other ids of a person' && phone !== undefined) return { id: phone }
  return {
    id: (fault && (id as Partial<Record<Fault, string>>)[fault]) ?? from,
    ...(otherIds.length > 0 && { otherIds }),
    ...(name && { name }),
  }
}

function messageOf(entry: Entry, naming: Naming): InboundMessage {
  const { fault, token } = naming
  const { from, thread, picked, answers, forwarded } = entry
  const inGroup = entry.group && !(picked && fault === 'takes presses in groups for direct messages')
  const group = inGroup || fault === 'marks direct messages as those of a group'
  const mentioned = entry.mentioned || (group && fault === 'takes every message of a group for a mention')
  const keepsThread =
    fault !== 'drops the thread of a received message' && !(group && fault === 'drops the thread of messages in groups')
  return {
    id: idOf(entry, fault),
    from: senderOf(entry, naming),
    to: inGroup && fault !== 'gives the sender as the recipient of a group' ? 'room' : from,
    text: textOf(entry, fault),
    ...(thread !== undefined && keepsThread && { threadId: thread }),
    ...(group && fault !== 'does not mark groups' && { group: 'group' as const }),
    ...(mentioned && fault !== 'does not mark mentions' && { mentioned }),
    ...(answers && fault !== 'drops quotes' && { quoted: quotedOf(answers, fault) }),
    ...(forwarded !== undefined && fault !== 'takes forwards for own words' && { forwardedFrom: { name: forwarded } }),
    ...(fault === 'has the token in the route' && { route: { token } }),
  }
}

const quotedOf = (
  { message, text }: NonNullable<Entry['answers']>,
  fault: Fault | undefined,
): NonNullable<InboundMessage['quoted']> => ({
  ...(message !== undefined && { id: message }),
  isOwn: message !== undefined || fault === 'takes quotes of others for its own',
  text,
})
