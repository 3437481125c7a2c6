// The contract of a channel: it receives messages from a platform and sends the replies.
import type { ExtensionContext, Json } from './context.ts'
import type { Panel } from './panel.ts'
import type { JsonSchema } from '../typebox.ts'

/** A message that somebody wrote on a channel, or a choice that somebody picked. */
export interface InboundMessage {
  /** The platform's id of the message. A second message with the same id is ignored as a duplicate. */
  id: string
  /**
   * The sender: `allowFrom` contains `id` or one of `otherIds`, other ids of the same person that nobody else can have.
   * The gateway remembers which ids belong together: a message with any of them is from the same person, and continues
   * the same session. `name`, a display name, is shown to the agent.
   */
  from: { id: string; otherIds?: readonly string[] | undefined; name?: string | undefined }
  /** The recipient of a reply: `send` gets it as `to`. */
  to: string
  /** May be blank if the message has attachments. Of a picked choice, its `text`. */
  text: string
  threadId?: string | undefined
  /**
   * Set it if several people read the conversation: `channel` for an open room of a team, `group` for any other. Such a
   * conversation has its own session and its own tool policy. Absent: a direct message.
   */
  group?: 'group' | 'channel' | undefined
  /**
   * Whether a message in a group mentions the account or replies to one of its messages. By default the agent reads
   * only those. Remove the mention from `text`. A picked choice is a reply. Leave it out if the platform does not tell: a
   * text that begins with the name of the agent (`@helper …`, `helper: …`) then counts as a mention.
   */
  mentioned?: boolean | undefined
  attachments?: readonly Attachment[] | undefined
  /** The message that this one answers or quotes. The agent reads it before `text`. */
  quoted?: QuotedMessage | undefined
  /**
   * Set it if the sender passes a message on: `text` and the attachments are then not the sender's own, and the agent
   * reads them as external content. `name` says who wrote it, if the platform tells.
   */
  forwardedFrom?: { name?: string | undefined } | undefined
  /** What the channel needs for a reply, such as a service URL; `send` gets it back as `route`. */
  route?: Json | undefined
}

/** A message that another one answers or quotes, as far as the platform tells. At least `id` or `text` must be there. */
export interface QuotedMessage {
  /**
   * The platform's id of it, as `SendResult` has it: the gateway then recognizes a message that it has sent itself, and
   * knows its text.
   */
  id?: string | undefined
  /** Who wrote it. */
  from?: { id?: string | undefined; name?: string | undefined } | undefined
  /** True: the account itself has sent it. */
  isOwn?: boolean | undefined
  /** The whole text, or the part that is quoted. */
  text?: string | undefined
  attachments?: readonly Attachment[] | undefined
}

/** The bytes of a download: the answer of `fetch`, or whatever yields them in chunks, such as a stream of Node. */
export type ByteSource = Response | AsyncIterable<Uint8Array> | Iterable<Uint8Array>

/** A file that came with a message. The gateway tells the agent its name, type and size, and stores it. */
export interface Attachment {
  /** File name as the sender chose it; the gateway makes it safe. */
  name: string
  /** Media type, such as `image/png`. */
  type: string
  /** In bytes, if the platform says it. */
  size?: number | undefined
  /**
   * Starts the download: returns the answer of `fetch`, or the bytes in chunks as they arrive. Do not read them whole:
   * the gateway counts them, whatever `size` says, and ends a download that is too large or takes too long. Called at
   * most once, before `receive` resolves, and only for senders that may write to the agent. If it fails, the prompt
   * only mentions the file.
   */
  read?(signal: AbortSignal): Promise<ByteSource>
}

/** One message to send: a text that fits `limits`, or a file. */
export interface OutboundMessage {
  /**
   * The same for every attempt to send this message, and for no other message. Pass it on if the platform accepts
   * idempotency keys. It has at most 64 letters, digits, dashes and colons, such as
   * `019a8f3e-6c1b-7d20-9f4e-2b7a5c8d1e0f:1:0`. For a platform that accepts only UUIDs or fewer characters, hash it.
   */
  key: string
  to: string
  /** In the format of `limits.format`. With `file`, the caption, which may be empty. */
  text: string
  /** The styles of parts of the text, if `limits.format` is `ranges`. They may overlap. */
  ranges?: readonly TextRange[]
  threadId?: string
  route?: Json
  /** Only if `limits.maxFileBytes` is set. */
  file?: { name: string; type: string; data: Uint8Array }
  /** Only if `limits.maxChoices` is set, and never with a file. */
  choices?: readonly MessageChoice[]
}

/**
 * An answer to a message that its reader can pick, such as a button below it. Whoever picks it has written a message:
 * pass it to `receive`, with the sender that the platform names, and with an id of its own each time.
 */
export interface MessageChoice {
  /** What the button says, at most 40 characters. */
  label: string
  /** What the message says, at most 64 bytes in UTF-8. */
  text: string
}

/** A message that the platform has accepted. */
export interface SentMessage extends Pick<OutboundMessage, 'to' | 'text' | 'ranges' | 'threadId' | 'route'> {
  /** The `id` of its `SendResult`. */
  id: string
}

/** A message that may have arrived, as `send` got it. Of a file, it has only the name and the type. */
export interface UncertainMessage extends Omit<OutboundMessage, 'file'> {
  file?: { name: string; type: string }
  /** The message was not sent before this time, in milliseconds since 1970, by the clock of the gateway. */
  firstAttemptAt: number
}

/** A part of a text that is shown in a style. `start` and `length` count UTF-16 code units. */
export interface TextRange {
  style: 'bold' | 'italic' | 'strike' | 'code'
  start: number
  length: number
}

/**
 * The result of one attempt to send.
 * - `sent`: the platform accepted the message; `id` is its id there, which no other message of the account has. With it,
 * the gateway recognizes the message when somebody quotes it.
 * - `failed`: the message did certainly not arrive. The gateway does not retry `permanent` and `auth`; it retries
 * `rate` and `transient`, after `retryAfterMs`, or at `resetAt` (in milliseconds since 1970), if given; if both are, at
 * the later time.
 * - `unknown`: the message may have arrived. The gateway retries only as `limits.idempotency` allows.
 * `detail` appears in the log and in the record of the delivery, so it must hold no secrets and no message text.
 * `resultOfResponse` and `resultOfError` classify what `fetch` returns and throws.
 */
export type SendResult =
  | { outcome: 'sent'; id?: string | undefined }
  | {
      outcome: 'failed'
      reason: 'permanent' | 'auth' | 'rate' | 'transient'
      detail: string
      retryAfterMs?: number | undefined
      resetAt?: number | undefined
    }
  | { outcome: 'unknown'; detail: string }

/** What a platform writes before and after a part of a text, to show it in a style. */
export type TextMark = readonly [open: string, close: string]

/** The marks of a platform. A style without marks is not shown. */
export interface TextMarks {
  bold?: TextMark
  italic?: TextMark
  strike?: TextMark
  code?: TextMark
  /** Its line breaks belong to it: `['```\n', '\n```']`. */
  codeBlock?: TextMark
  /** The platform shows marks as text if they are on two lines, so each line has its own. Not in a block of code. */
  endAtLines?: true
}

/** How texts look on the platform, how long a message may be, and what to do when its result is unknown. */
export interface ChannelLimits {
  /** Longest text of one message, in `unit`. Longer replies are split into several messages. */
  maxText: number
  /** What `maxText` counts. Default: `utf16`, the length of a JavaScript string. */
  unit?: 'utf16' | 'codepoints' | 'bytes'
  /**
   * The format of `text` in `send`. Agents write Markdown; the gateway converts it.
   * - `markdown`: unchanged, except that pictures by address become links and HTML becomes text.
   * - `html`: only the tags `b i s u code pre a blockquote`, with escaped text.
   * - `plain`: without marks; links are followed by their address.
   * - `ranges`: as `plain`, with `ranges` beside the text, which say what is bold, code and so on.
   * - marks: those of the platform, such as `{ bold: ['*', '*'] }`; links are followed by their address.
   * Default: `markdown`.
   */
  format?: 'markdown' | 'html' | 'plain' | 'ranges' | TextMarks
  /**
   * Whether a message with an unknown result may be sent again.
   * - `native`: yes, the platform drops a second message with the same `key`.
   * - `reconcile`: if `Connection.reconcile` finds that it did not arrive.
   * - `none`: no, the delivery ends as `unknown`.
   */
  idempotency: 'native' | 'reconcile' | 'none'
  /** Largest file that `send` accepts, in bytes. Absent: the channel sends no files. */
  maxFileBytes?: number
  /**
   * Longest text that `send` gets together with a file, in characters; a longer one is sent before the file. At most
   * and by default 1000. Set 0 if the platform would make link previews of such a text.
   */
  maxCaption?: number
  /** How many choices a message can have. Absent: none. The text of a message says, too, what can be answered. */
  maxChoices?: number
}

/** What everything that runs for one account gets. */
export interface AccountContext extends ExtensionContext {
  /** The id of the account in `channels.<name>.accounts`, or `default`. */
  accountId: string
}

/** The context of one connection. */
export interface ChannelContext extends AccountContext {
  /**
   * Hands a message to the gateway. Call it once for each message, and await it: the message is on disk when the
   * promise resolves; confirm it to the platform only then. While the message cannot be stored, the gateway tries
   * again, and stores those that come later after it.
   * `ignored`: the sender may not write to the agent, a message in a group does not mention it, there is neither text
   * nor attachment, or the message is malformed, which the log says. Confirm it, too.
   * Rejects only if the message is not stored when the connection ends, or when `options.signal` aborts. Do not confirm
   * it then: the platform has to send it again.
   * @param options `signal` limits how long it waits for the store, such as that of a `PlatformRequest`
   */
  receive(message: InboundMessage, options?: { signal?: AbortSignal }): Promise<'accepted' | 'duplicate' | 'ignored'>
  /**
   * Reports that the platform has given a group another id, as Telegram does when a group becomes a supergroup. The
   * group keeps its session and its entry in `groups`. Resolves when this is on disk.
   */
  moved(fromGroup: string, toGroup: string): Promise<void>
  /**
   * Reports a lost connection. The gateway logs the reason, calls `close` and then `connect` again. With an `AuthError`
   * it does not connect again until somebody logs in or the configuration changes.
   * @param reason a sentence, or the error that ended the connection
   */
  lost(reason: unknown): void
  /**
   * Reports that a message which the platform had accepted was not delivered after all. The delivery then counts as
   * failed, and an event tells the main session. Resolves when this is on disk; rejects if it cannot be stored: report
   * it again later. A second report of a message changes nothing, and an unknown `key` is ignored.
   * @param key that of the `OutboundMessage`; let the platform keep it with the message, if it can
   * @param detail as in `SendResult`
   */
  undelivered(key: string, detail: string): Promise<void>
}

/** One connected account of a channel. */
export interface Connection {
  /**
   * Sends one message. Switch off link previews: an agent that reads a hostile text may write an address that contains a
   * secret, and nothing may fetch it before somebody opens it.
   */
  send(message: OutboundMessage): Promise<SendResult>
  /** Ends the connection. Resolves when it holds no resources any more. */
  close(): Promise<void>
  /**
   * Shows or hides that the agent is typing. The gateway calls it while a run answers a message, at most every four
   * seconds, and ignores errors. `route` is that of the message.
   */
  typing?(to: string, on: boolean, route?: Json): Promise<void>
  /**
   * Removes the choices of a message, because none counts any more. The gateway ignores errors, and may call it again
   * for the same message.
   */
  removeChoices?(message: SentMessage): Promise<void>
  /**
   * Asks the platform whether a message has arrived; required if `limits.idempotency` is `reconcile`. Look for its
   * `key`, or for its text since `firstAttemptAt` if the platform keeps no key. Return `unknown` if the platform cannot
   * tell. Reject if it cannot be reached at the moment: the gateway asks again later.
   */
  reconcile?(message: UncertainMessage): Promise<'sent' | 'absent' | 'unknown'>
  /**
   * Answers a request of the platform to `/channels/<name>`, or to `/channels/<name>/<account>` if several accounts are
   * configured. The gateway checks no credential: verify the platform's signature before anything else. If it rejects,
   * the answer is 503, so that the platform sends the request again.
   */
  handle?(request: PlatformRequest): Promise<PlatformResponse>
}

/** An HTTP request of the platform. */
export interface PlatformRequest {
  method: 'GET' | 'POST'
  /** By name in lower case. */
  headers: Readonly<Record<string, string | undefined>>
  query: Readonly<Record<string, string>>
  /** The bytes as they came, for the signature; at most 1 MiB. */
  body: Uint8Array
  /** Aborts when the platform has waited for five seconds. Pass it to `receive`, and let `handle` reject then. */
  signal: AbortSignal
}

/** The answer to a request of the platform. */
export interface PlatformResponse {
  status: number
  /** A text is sent as `text/plain`, anything else as JSON. */
  body?: string | Json | undefined
}

/** A step of a login, shown to the person who logs in. A new step replaces it. */
export type LoginStep =
  /** The content of a QR code, to scan with the platform's app. */
  | { qr: string }
  /** A code to type into the platform's app. */
  | { code: string }
  /** An address to open in a browser, and the code to type there: OAuth's device flow. It must begin with `https://`. */
  | { url: string; code?: string }

/** A question to the person who logs in. */
export interface LoginQuestion {
  /** What to enter, and what was wrong with the last answer, in one or two sentences of at most 500 characters. */
  question: string
  /** `true`: the answer is not shown while it is typed, such as a password. */
  secret?: boolean
}

/** A messaging channel. Its name is a value of `channel` in requests, and its settings are in `channels.<name>`. */
export interface Channel<Config = unknown> {
  readonly kind: 'channel'
  /** Lower-case letters, digits and dashes. */
  name: string
  /** Other names for it, which work wherever its name does. */
  aliases?: readonly string[]
  description: string
  /**
   * Schema of the settings of one account. Mark secrets with `Type.String({ secret: true })`. Mark paths with
   * `path: true`: they are resolved from the configuration directory, so `connect` gets absolute paths.
   */
  config: JsonSchema
  /**
   * Schema of a recipient, with a `description` that says what one looks like. The gateway refuses a `to` that does not
   * fit, in requests and in the configuration, and shows the description in the OpenAPI document.
   */
  target: JsonSchema
  /**
   * Schemas of the ids of senders (`from.id` of a message) and of groups (`to` of a message in a group). `check` warns
   * about an id in `allowFrom` or `groups` that does not fit, and shows the `description`, which completes the sentence
   * "use …". Absent: any text is an id.
   */
  sender?: JsonSchema
  group?: JsonSchema
  /**
   * Rewrites the id of a sender or a group, as people write it in the configuration, to the form that messages have:
   * `+1 (555) 111-2222` to `+15551112222`. Returns any other text as it is. Upper and lower case need no rewriting.
   */
  normalizeId?(id: string): string
  limits: ChannelLimits
  /**
   * The npm packages that an account with these settings imports and that the channel does not bring itself, with the
   * versions that it was tested with: `() => ({ grammy: '1.46.0' })`. A package without a version is not needed. If one
   * is missing, `check` and the start say which command installs it, and the account is not connected.
   */
  packages?(config: Config): Readonly<Record<string, string | undefined>>
  /**
   * Connects one account. Import the platform's library here, so that an unused channel costs nothing. Throw an
   * `AuthError` if the platform refuses the credentials: the gateway then stops retrying. It retries after any other
   * error.
   */
  connect(config: Config, context: ChannelContext): Promise<Connection>
  /**
   * Links an account, for platforms where a person confirms it in an app or in a browser, or answers questions. Yields
   * what to show, asks with `context.ask`, and returns when the account is linked, with what `connect` needs kept in
   * `context.state`. The account is not connected meanwhile. The gateway offers it on its page, as the tool
   * `<name>_login` and as `svc-gateway channels login <name>`.
   */
  login?(config: Config, context: LoginContext): AsyncIterable<LoginStep>
  /** Unlinks the account and deletes what `login` has stored. The account is connected meanwhile if it can be. */
  logout?(config: Config, context: AccountContext): Promise<void>
  /** A part of the control page, which is shown while the channel is configured. */
  panel?: Panel
}

/** The context of a login. `signal` aborts when the person gives up or the time is over. */
export interface LoginContext extends AccountContext {
  /**
   * Asks the person, such as for a password or the code of a second factor, instead of what is shown. Resolves with the
   * answer: a text of 1 to 1000 characters, which the gateway neither stores nor logs. Rejects when `signal` aborts.
   */
  ask(question: LoginQuestion): Promise<string>
}

/** Declares a channel. @example export default defineChannel({ name: 'pager', … }) */
export const defineChannel = <Config>(channel: Omit<Channel<Config>, 'kind'>): Channel<Config> => ({
  kind: 'channel',
  ...channel,
})
