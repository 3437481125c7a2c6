// The contract: what a plugin imports from `svc-gateway/plugin`. Declarations are data without side effects; `connect`,
// `open` and `models` start things and return a way to end them.
import type { LanguageModel as AnyLanguageModel } from 'ai'
import type { ByteSource } from './kit/read-bytes.ts'
import type { SendResult } from './send-result.ts'
import type { TransformResult } from './transform.ts'
import type { JsonSchema } from './typebox.ts'
import type { ToolEffect, ToolApi } from './tool-api.ts'

export { AuthError } from './auth-error.ts'
export { connectError, connectStatusError, type Service } from './connect-error.ts'
export { InputError } from './input-error.ts'
export type { ByteSource } from './kit/read-bytes.ts'
export { readHtml } from './read-html.ts'
export { resultOfError, resultOfResponse, type SendResult } from './send-result.ts'
export { countOf, fieldsOf, listOf, textOf } from './shapes.ts'
export { type JsonSchema, type Static, type TSchema, Type } from './typebox.ts'
export type * from './transform.ts'
export type * from './tool-api.ts'

/** A value that JSON can hold: what `state` stores and tools return. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

// ── The context of every extension ────────────────────────────────────────────────────────────────────────

/** A structured logger. The gateway adds the name of the extension to each line and redacts configured secrets. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * Durable key-value state of one extension, such as cursors and credentials. Each account of a channel has its own. A
 * write is on disk when its promise resolves.
 */
export interface ExtensionState {
  /** @returns the value that was last set, or `undefined`. */
  get(key: string): Promise<Json | undefined>
  set(key: string, value: Json): Promise<void>
  delete(key: string): Promise<void>
}

/** What a running extension gets; each kind adds its own members. */
export interface ExtensionContext {
  log: Log
  /** Aborted when the gateway stops or the extension is reloaded. */
  signal: AbortSignal
  state: ExtensionState
}

// ── Channels ────────────────────────────────────────────────────────────────────────────────────

/** A message that somebody wrote on a channel. */
export interface InboundMessage {
  /** The platform's id of the message. A second message with the same id is ignored as a duplicate. */
  id: string
  /**
   * The sender: `allowFrom` contains `id` or one of `otherIds`, other ids of the same person that nobody else can have;
   * `name`, a display name, is shown to the agent.
   */
  from: { id: string; otherIds?: readonly string[] | undefined; name?: string | undefined }
  /** The recipient of a reply: `send` gets it as `to`. */
  to: string
  /** May be blank if the message has attachments. */
  text: string
  threadId?: string | undefined
  /**
   * Set it if several people read the conversation: `channel` for an open room of a team, `group` for any other. Such a
   * conversation has its own session and its own tool policy. Absent: a direct message.
   */
  group?: 'group' | 'channel' | undefined
  /**
   * Whether a message in a group mentions the account or replies to one of its messages. By default the agent reads
   * only those. Remove the mention from `text`. Leave it out if the platform does not tell: a text that begins with the
   * name of the agent (`@helper …`, `helper: …`) then counts as a mention.
   */
  mentioned?: boolean | undefined
  attachments?: readonly Attachment[] | undefined
  /** What the channel needs for a reply, such as a service URL; `send` gets it back as `route`. */
  route?: Json | undefined
}

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
  /** The same for every attempt to send this message. Pass it on if the platform accepts idempotency keys. */
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
}

/** A part of a text that is shown in a style. `start` and `length` count UTF-16 code units. */
export interface TextRange {
  style: 'bold' | 'italic' | 'strike' | 'code'
  start: number
  length: number
}

/** How texts look on the platform, how long a message may be, and what to do when its result is unknown. */
export interface ChannelLimits {
  /** Longest text of one message, in `unit`. Longer replies are split into several messages. */
  maxText: number
  /** What `maxText` counts. Default: `utf16`, the length of a JavaScript string. */
  unit?: 'utf16' | 'codepoints' | 'bytes'
  /**
   * The format of `text` in `send`. Agents write Markdown; the gateway converts it.
   * - `markdown`: unchanged.
   * - `html`: only the tags `b i s u code pre a blockquote`, with escaped text.
   * - `whatsapp`: `*bold*`, `_italic_`, `~strike~`, and code in backticks.
   * - `plain`: without marks; links are followed by their address.
   * - `ranges`: as `plain`, with `ranges` beside the text, which say what is bold, code and so on.
   * Default: `markdown`.
   */
  format?: 'markdown' | 'html' | 'whatsapp' | 'plain' | 'ranges'
  /**
   * Whether a message with an unknown result may be sent again.
   * - `native`: yes, the platform drops a second message with the same `key`.
   * - `reconcile`: if `Connection.reconcile` finds that it did not arrive.
   * - `none`: no, the delivery ends as `unknown`.
   */
  idempotency: 'native' | 'reconcile' | 'none'
  /** Largest file that `send` accepts, in bytes. Absent: the channel sends no files. */
  maxFileBytes?: number
}

/** The context of one connection. */
export interface ChannelContext extends ExtensionContext {
  /** The id of the account in `channels.<name>.accounts`, or `default`. */
  accountId: string
  /**
   * Hands a message to the gateway. The message is on disk when the promise resolves; confirm it to the platform only
   * then. `ignored`: the sender may not write to the agent, a message in a group does not mention it, or there is
   * neither text nor attachment. Rejects if the message cannot be stored; call it again later.
   */
  receive(message: InboundMessage): Promise<'accepted' | 'duplicate' | 'ignored'>
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
  send(message: OutboundMessage): Promise<SendResult>
  /** Ends the connection. Resolves when it holds no resources any more. */
  close(): Promise<void>
  /**
   * Shows or hides that the agent is typing. The gateway calls it while a run answers a message, at most every four
   * seconds, and ignores errors. `route` is that of the message.
   */
  typing?(to: string, on: boolean, route?: Json): Promise<void>
  /**
   * Asks the platform about the message with this `key`; required if `limits.idempotency` is `reconcile`. Return
   * `unknown` if the platform cannot tell. Reject if it cannot be reached at the moment: the gateway asks again later.
   */
  reconcile?(key: string, to: string, threadId?: string): Promise<'sent' | 'absent' | 'unknown'>
  /**
   * Answers a request of the platform to `/channels/<name>`, or to `/channels/<name>/<account>` if several accounts are
   * configured. The gateway checks no credential: verify the platform's signature before anything else.
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
}

/** The answer to a request of the platform. */
export interface PlatformResponse {
  status: number
  /** A text is sent as `text/plain`, anything else as JSON. */
  body?: string | Json | undefined
}

/** A step of a login, shown to the person who logs in. */
export type LoginStep =
  /** The content of a QR code, to scan with the platform's app. A new step replaces it. */
  | { qr: string }
  /** A code to type into the platform's app. */
  | { code: string }

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
   * Links an account, for platforms where a person confirms it in an app. Yields what to show, and returns when the
   * account is linked, with what `connect` needs kept in `context.state`. The account is not connected meanwhile. The
   * gateway offers it as the tool `<name>_login` and as `svc-gateway channels login <name>`.
   */
  login?(config: Config, context: LoginContext): AsyncIterable<LoginStep>
  /** Unlinks the account and deletes what `login` has stored. The account is connected meanwhile if it can be. */
  logout?(config: Config, context: LoginContext): Promise<void>
}

/** The context of a login. `signal` aborts when the person gives up or the time is over. */
export interface LoginContext extends ExtensionContext {
  accountId: string
}

// ── Tools ───────────────────────────────────────────────────────────────────────────────────────

/** The context of one tool call, with the tool API of the gateway. */
export interface ToolContext extends ExtensionContext, ToolApi {
  agentId: string
  sessionKey: string
  /** An agent in a turn, or a client over HTTP. */
  caller: 'agent' | 'http'
  /** The run that calls, if `caller` is `agent`. */
  runId?: string
  /** Channel and account of the message that the run answers, or that the client names in headers. */
  channel?: string | undefined
  accountId?: string | undefined
}

/** A function that agents and HTTP clients can call. */
export interface Tool<Args = never> {
  /** snake_case, unique in the gateway. */
  name: string
  /** Group name for policies, without the prefix `group:`. */
  group?: string
  /**
   * `true`: the tool is available only where a policy list names the tool, its group or its toolset. `*` does not count
   * as a name.
   */
  optIn?: boolean
  /** For the model: what the tool does and when to use it. */
  description: string
  /** Schema of the arguments, an object. Arguments are checked before `execute` is called. */
  args: JsonSchema
  /**
   * What a call does, or a function that returns it for one call. `[]`: neither. Absent: both.
   * An agent whose session holds external content may use one of the two effects, so a tool with both is withheld from
   * it.
   */
  effects?:
    | readonly ToolEffect[]
    | ((args: Args, context: ToolContext) => readonly ToolEffect[] | Promise<readonly ToolEffect[]>)
  /**
   * Returns a JSON value, or a promise of one. It must end when `context.signal` aborts; its result is then ignored.
   * Throw `InputError` if the arguments are at fault.
   */
  execute(args: Args, context: ToolContext): unknown
}

/** The context of an open toolset. */
export interface ToolsetContext extends ExtensionContext {
  /**
   * Offers tools that come and go, for example with a connection. You may call it at any time: each call replaces the
   * tools of the call before. A tool that is faulty, or whose name is in use, is left out with a warning in the log.
   */
  offer(tools: readonly Tool[]): void
}

/** A set of tools with shared settings. Give `tools`, or `open` if the tools need settings or a connection. */
export interface Toolset<Config = unknown> {
  readonly kind: 'toolset'
  name: string
  description: string
  /** Schema of the config section `tools.<name>`. Absent: the toolset has no settings. */
  config?: JsonSchema
  tools?: readonly Tool[]
  /**
   * The tools that `open` may return or offer, by name or by a name with `*`. It must not open anything. With it, the
   * gateway can warn about names in a policy that match no tool.
   */
  expected?(config: Config): readonly Pick<Tool, 'name' | 'group'>[]
  /**
   * Opens the toolset. The gateway waits for it at startup, so a slow connection belongs in the background: return an
   * empty list, and call `offer` once the tools are known.
   */
  open?(config: Config, context: ToolsetContext): Promise<OpenedToolset>
}

/** An open toolset. */
export interface OpenedToolset {
  tools: readonly Tool[]
  close(): Promise<void>
}

// ── Providers ───────────────────────────────────────────────────────────────────────────────────

/** A model object of the AI SDK, never a model name: the AI SDK would send a name to a hosted service. */
export type LanguageModel = Exclude<AnyLanguageModel, string>

/** A source of models. Its name is a value of `providers.<name>.kind`. */
export interface Provider<Config = unknown> {
  readonly kind: 'provider'
  name: string
  description: string
  /** Schema of the config section `providers.<name>`, without `kind`. */
  config: JsonSchema
  /**
   * Called when a model of the provider is first needed; import the library here. `context.name` is the name of the
   * config section, the left side of `<provider>/<model>`.
   * @returns a function that throws for an unknown model id
   */
  models(config: Config, context: { name: string; log: Log }): Promise<(modelId: string) => LanguageModel>
  /**
   * The request that lists the models of the service. `svc-gateway doctor` and `svc-gateway setup` send it to check the
   * address, the credential and the models. `context.env` is the environment, from which a library may read a key.
   * Throw an `AuthError` if a credential is missing.
   */
  listModels?(config: Config, context: { env: Readonly<Record<string, string | undefined>> }): ModelListRequest
}

/** A GET request whose answer lists models. */
export interface ModelListRequest {
  url: string
  headers?: Record<string, string>
  /** Reads the ids of the models, in every form that `models` accepts, from the JSON of the answer. */
  readIds(body: unknown): string[]
}

// ── Presets ─────────────────────────────────────────────────────────────────────────────────────

/** One webhook request of a preset's service. Its payload fits the preset's schema. */
export interface PresetRequest<Payload = unknown, Config = unknown> {
  readonly payload: Payload
  /** By name in lower case, without credentials and signatures. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The preset's settings, checked against its `config` schema. */
  readonly config: Config
}

/** The context of a preset's job. */
export interface PresetContext extends ExtensionContext {
  /**
   * Hands a payload to the gateway as if the service had sent it in a webhook: mappings, templates, transforms and
   * limits apply, and `GET /api/requests` lists it. It is on disk when the promise resolves; confirm it to the service
   * only then. Rejects if it cannot be stored at the moment; call it again later with the same id.
   * @param options `id`: the service's id of this payload, at most 256 characters. It counts once in 24 hours.
   * @returns `skipped` if the rules skip it, `refused` if they reject it; both are listed with the reason
   */
  accept(payload: Json, options: { id: string }): Promise<'accepted' | 'duplicate' | 'skipped' | 'refused'>
  /**
   * Reports that the job cannot go on. The gateway logs the reason, calls `close` and then `start` again. With an
   * `AuthError` it does not start it again until the configuration is reloaded.
   * @param reason a sentence, or the error that ended the job
   */
  lost(reason: unknown): void
}

/** A job that runs with the gateway, such as a watch or a poll. */
export interface PresetJob {
  /** Ends the job. Resolves when it holds no resources any more. */
  close(): Promise<void>
  /** Called for each webhook of the preset whose sender is authenticated, for services that only say "look again". */
  onWebhook?(): void
}

/** The steps that prepare a service, each of which checks itself. */
export interface PresetSetup<Config = unknown> {
  /** Schema of the answers, an object of texts with descriptions. */
  readonly answers: JsonSchema
  /**
   * Throw `InputError` if an answer is at fault, and `AuthError` if the service refuses the credentials.
   * @returns the keys to write to `hooks.<name>`; `null` removes a key
   */
  run(answers: never, context: PresetSetupContext<Config>): Promise<Json>
}

/** The context of a setup on the command line. */
export interface PresetSetupContext<Config = unknown> extends Pick<ExtensionContext, 'log' | 'signal'> {
  /** The settings so far. */
  readonly settings: Config
  /** The public address of the preset's hook, if `gateway.publicUrl` is set. */
  readonly hookUrl: string | undefined
  /** Reports a step that was done and checked. */
  done(text: string): void
  /** Tells the person what is left to do by hand. */
  todo(text: string): void
  /** The path of a file in the configuration directory. */
  privatePath(name: string): string
  /** Writes JSON that only the user can read, such as credentials. Returns the path. */
  writePrivate(name: string, value: Json): string
}

/** A webhook as the service sends it, for `svc-gateway trigger <preset> --sample`. */
export interface SampleRequest {
  /** What happened, in kebab-case, such as `issue-opened`. Unique in the preset. */
  name: string
  payload: Json
  /** By name in lower case: those that the preset reads, such as the type of the event. */
  headers?: Readonly<Record<string, string>>
}

/** What makes a sample a new webhook, and not a retry of the one before. */
export interface SampleSeed {
  /** A new UUID. Use it in the id of the webhook. */
  id: string
  /** The current time, ISO 8601, UTC. */
  now: string
}

/**
 * Identifies a webhook of a service that sends no id. It is a retry if the latest accepted webhook of its subject has
 * the same content and came less than four minutes before. Anything else is new: the same state after another one, and
 * a reminder hours later.
 */
export interface RepeatKey {
  /** What the webhook is about, such as a group of alerts or a monitor. */
  subject: string
  /** What it says. It is the same in each retry; the payload as JSON, for example. */
  content: string
}

/** A ready-made mapping for the webhooks of one service. Its name in `hooks.presets` enables it. */
export interface Preset<Payload = unknown, Config = unknown> {
  readonly kind: 'preset'
  name: string
  description: string
  /** Schema of the fields that the preset reads. A payload that does not fit is answered with 400. */
  payload: JsonSchema
  /** Fields of an entry of `hooks.mappings` that all of its actions share. They may be templates. */
  mapping: Readonly<Record<string, unknown>>
  /**
   * How the service signs its requests. The operator adds the secret in `hooks.<name>.auth`. Absent: the service sends
   * the hook token.
   */
  auth?: { readonly scheme: string; readonly [key: string]: unknown }
  /** Schema of the preset's settings in `hooks.<name>`. Absent: it has none. */
  config?: JsonSchema
  /**
   * The service's id of this webhook, the same in each retry. The gateway accepts one request per id in 24 hours,
   * whatever else differs. Do not make it of what a later webhook may repeat, such as a state: return a `RepeatKey`.
   */
  deliveryId?(request: PresetRequest<Payload, Config>): string | RepeatKey | undefined
  /**
   * Turns a request into actions, as a transform does: an object overrides fields of `mapping`, a list makes several
   * actions, `null` skips the request. It must be pure: the same request gives the same result. A `sessionKey` must
   * begin with `hook:`. Throw `InputError` if the payload is at fault: the sender gets its message with status 400.
   */
  toAction?(request: PresetRequest<Payload, Config>): Exclude<TransformResult, void>
  /**
   * Webhooks to try the preset with, each of which starts something. Free of real data. The first one is the default.
   * Import them here if they are long, so that an unused sample costs nothing.
   */
  samples?(seed: SampleSeed): readonly SampleRequest[] | Promise<readonly SampleRequest[]>
  /**
   * Starts a job that runs with the gateway and gets events from the service itself. Throw an `AuthError` if the
   * service refuses the credentials: the gateway then stops retrying. It retries after any other error, and waits at
   * least for its `retryAfterMs`, if it has one.
   */
  start?(config: Config, context: PresetContext): Promise<PresetJob>
  /** Whether these settings need the job; pure. Absent: all do. */
  needsJob?(config: Config): boolean
  /**
   * The npm packages that the job and the setup import and that the preset does not bring itself, with the versions
   * that it was tested with, as of a channel. If one is missing, `check`, the log and the setup say which command
   * installs it, and the job does not start.
   */
  packages?(config: Config): Readonly<Record<string, string | undefined>>
  /** Sets up the service for the command line: `svc-gateway presets setup <name>`. */
  setup?: PresetSetup<Config>
}

// ── Declaring ───────────────────────────────────────────────────────────────────────────────────

/** The default export of a plugin is one extension or a list of them. */
export type Extension = Channel<never> | Toolset<never> | Provider<never> | Preset<never, never>

/** Declares a channel. @example export default defineChannel({ name: 'pager', … }) */
export const defineChannel = <Config>(channel: Omit<Channel<Config>, 'kind'>): Channel<Config> => ({
  kind: 'channel',
  ...channel,
})

/**
 * Declares a toolset.
 * @example export default defineToolset({ name: 'dice', description: 'Rolls dice.', tools: [roll] })
 */
export const defineToolset = <Config>(toolset: Omit<Toolset<Config>, 'kind'>): Toolset<Config> => ({
  kind: 'toolset',
  ...toolset,
})

/** Declares one tool of a toolset. Type its arguments by hand or with `Static<typeof Args>`. */
export const defineTool = <Args>(tool: Tool<Args>): Tool => tool

/** Declares a provider of models. */
export const defineProvider = <Config>(provider: Omit<Provider<Config>, 'kind'>): Provider<Config> => ({
  kind: 'provider',
  ...provider,
})

/** Declares a preset. Type its payload by hand or with `Static<typeof Payload>`. */
export const definePreset = <Payload, Config = unknown>(
  preset: Omit<Preset<Payload, Config>, 'kind'>,
): Preset<Payload, Config> => ({
  kind: 'preset',
  ...preset,
})
