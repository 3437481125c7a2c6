// The contract: the one file that a plugin imports, as `svc-gateway/plugin`. Declaring an extension is data; living is
// a function with an end.
import type { LanguageModel as AnyLanguageModel } from 'ai'
import type { TransformResult } from './transform.ts'
import type { JsonSchema } from './typebox.ts'
import type { ToolEffect, ToolApi } from './tool-api.ts'

export { InputError } from './input-error.ts'
export { type JsonSchema, type Static, type TSchema, Type } from './typebox.ts'
export type * from './transform.ts'
export type * from './tool-api.ts'

/** A value that survives JSON: what `state` keeps and what tools may return. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json }

// ── What every extension gets ────────────────────────────────────────────────────────────────────────

/** A structured logger; the gateway adds the extension's name and redacts configured secrets. */
export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/**
 * Durable key-value state that belongs to one extension alone (cursors, credentials). A write is on disk when it
 * resolves.
 */
export interface ExtensionState {
  /** @returns the value last set, or `undefined`. */
  get(key: string): Promise<Json | undefined>
  set(key: string, value: Json): Promise<void>
  delete(key: string): Promise<void>
}

/** What every connected extension is handed; each kind adds its own functions. */
export interface ExtensionContext {
  log: Log
  /** Aborted when the gateway stops or the extension is reloaded. */
  signal: AbortSignal
  state: ExtensionState
}

// ── Channels ────────────────────────────────────────────────────────────────────────────────────

/** A message that came in on a channel. */
export interface InboundMessage {
  /** The platform's id of the message: the same id twice is one message. */
  id: string
  from: { id: string; name?: string }
  /** Where a reply goes: the value that `send` will get as `to`. */
  to: string
  text: string
  threadId?: string
  /** `true` when several people read along; sessions and policies differ for groups. */
  group?: boolean
  /** Anything the channel needs to answer later (a service URL, say); handed back in `OutboundMessage.route`. */
  route?: Json
}

/** One message to send: already cut to `limits.maxText`. */
export interface OutboundMessage {
  /** The same for every attempt of this very message: the platform's idempotency key, where it takes one. */
  key: string
  to: string
  text: string
  threadId?: string
  route?: Json
}

/**
 * What became of a message.
 * - `sent`: the platform has it (`id`: its id).
 * - `failed`: it certainly did not arrive. `permanent` and `auth` are not repeated; `rate` and `transient` are, after
 * `retryAfterMs` where given.
 * - `unknown`: the answer was lost. Repeated only where `limits.idempotency` allows it.
 * `detail` is for the log and the delivery's record: no secrets, no message text.
 */
export type SendResult =
  | { outcome: 'sent'; id?: string }
  | { outcome: 'failed'; reason: 'permanent' | 'auth' | 'rate' | 'transient'; detail: string; retryAfterMs?: number }
  | { outcome: 'unknown'; detail: string }

/** What one message may be, and what may be done when its answer was lost. */
export interface ChannelLimits {
  /** Longest text of one message, in UTF-16 code units; longer replies are sent in several. */
  maxText: number
  /**
   * Whether a message whose answer was lost may be sent again.
   * - `native`: the platform drops a second message with the same `key`.
   * - `reconcile`: `Connection.reconcile` can ask the platform what became of a `key`.
   * - `none`: it may not; the delivery ends `unknown`.
   */
  idempotency: 'native' | 'reconcile' | 'none'
}

/** What a connection is handed. */
export interface ChannelContext extends ExtensionContext {
  /** The account of `channels.<name>.accounts` that this connection serves, or `default`. */
  accountId: string
  /**
   * Hands a message to the gateway. When it resolves the message is on disk; only then confirm it to the platform.
   * `ignored`: the sender is not in `allowFrom`, or the text is blank. Rejects when it could not be stored: hand it
   * over again later.
   */
  receive(message: InboundMessage): Promise<'accepted' | 'duplicate' | 'ignored'>
  /** Reports that the connection is gone: it is closed and opened anew. `reason` is for the log: no secrets. */
  lost(reason: string): void
}

/** The living end of a channel: one account, connected. */
export interface Connection {
  send(message: OutboundMessage): Promise<SendResult>
  /** Ends the connection; resolves when nothing of it is left. */
  close(): Promise<void>
  /** Shows or ends "is typing". */
  typing?(to: string, on: boolean): Promise<void>
  /**
   * What became of the message with this `key`? Needed when `limits.idempotency` is `reconcile`.
   * Reject when the platform can't be asked at the moment: it is asked again later. `unknown` says that it can't tell
   * and never will.
   */
  reconcile?(key: string, to: string): Promise<'sent' | 'absent' | 'unknown'>
}

/** A messaging channel: a legal value of `channel`, and the config section `channels.<name>`. */
export interface Channel<Config = unknown> {
  readonly kind: 'channel'
  /** Lower-case letters, digits and dashes. */
  name: string
  description: string
  /**
   * Schema of one account's settings. Mark secrets with `Type.String({ secret: true })`, and paths with `path: true`:
   * they arrive absolute, resolved from the configuration directory.
   */
  config: JsonSchema
  /** Schema of `to`, with a `description` that says what a recipient looks like. */
  target: JsonSchema
  limits: ChannelLimits
  /** Opens one account's connection. Import platform libraries here, so that an unused channel costs nothing. */
  connect(config: Config, context: ChannelContext): Promise<Connection>
}

// ── Tools ───────────────────────────────────────────────────────────────────────────────────────

/** One call of a tool, and what it may ask of the gateway. */
export interface ToolContext extends ExtensionContext, ToolApi {
  agentId: string
  sessionKey: string
  /** Who calls: an agent in its turn, or a client over HTTP. */
  caller: 'agent' | 'http'
  /** The run that calls, when an agent does. */
  runId?: string
  /** Channel and account of the message that is being answered, or that the client names. */
  channel?: string | undefined
  accountId?: string | undefined
}

/** One thing that an agent, or a client over HTTP, can have done. */
export interface Tool<Args = never> {
  /** snake_case, unique in the gateway. */
  name: string
  /** Group name for policies, without the prefix `group:`. */
  group?: string
  /**
   * True: nobody has it unless a list of the policy names it, by its name, its group or its toolset; `*` alone does
   * not.
   */
  optIn?: boolean
  /** One sentence for the model: what it does and when to use it. */
  description: string
  /** Schema of the arguments: an object. Checked before `execute`. */
  args: JsonSchema
  /**
   * What a call does, or a function that tells it of one call; `[]` is neither. Absent: both.
   * An agent that holds external content may use tools of one kind or of the other, so a tool that does both is closed
   * to it.
   */
  effects?:
    | readonly ToolEffect[]
    | ((args: Args, context: ToolContext) => readonly ToolEffect[] | Promise<readonly ToolEffect[]>)
  /**
   * Returns any JSON value, or a promise of one. Must end when `context.signal` aborts; its answer is ignored
   * afterwards.
   */
  execute(args: Args, context: ToolContext): unknown
}

/** What a toolset is handed when it is opened. */
export interface ToolsetContext extends ExtensionContext {
  /**
   * Adds tools that come and go, say with a connection, at any time: each call replaces those of the call before, an
   * empty list takes them away. A tool with a fault, or with a name that is taken, is left out and named in the log.
   */
  offer(tools: readonly Tool[]): void
}

/** A set of tools that share settings and an end. Give `tools`, or `open` when they need a connection. */
export interface Toolset<Config = unknown> {
  readonly kind: 'toolset'
  name: string
  description: string
  /** Schema of the config section `tools.<name>`; absent: the toolset takes none. */
  config?: JsonSchema
  tools?: readonly Tool[]
  /**
   * The tools that `open` may bring or offer, by their names or by names with `*`, told without opening anything.
   * The lists of a policy may name them before they are there, and `check` can tell which names mean no tool.
   */
  expected?(config: Config): readonly Pick<Tool, 'name' | 'group'>[]
  /**
   * The start of the gateway waits for it: what may take long goes on behind it, and offers its tools when it has them.
   */
  open?(config: Config, context: ToolsetContext): Promise<OpenedToolset>
}

/** The living end of a toolset. */
export interface OpenedToolset {
  tools: readonly Tool[]
  close(): Promise<void>
}

// ── Providers ───────────────────────────────────────────────────────────────────────────────────

/** A model object of the AI SDK (never a plain string, which would go to a hosted service). */
export type LanguageModel = Exclude<AnyLanguageModel, string>

/** A source of models: a legal value of `providers.<name>.kind`. */
export interface Provider<Config = unknown> {
  readonly kind: 'provider'
  name: string
  description: string
  /** Schema of the config section `providers.<name>`, without `kind`. */
  config: JsonSchema
  /**
   * Called when a model of this provider is first needed; import the library here.
   * `name` is the name of the config section: the left side of `<provider>/<model>`.
   * The function that it returns throws for a model id that the provider does not have.
   */
  models(config: Config, context: { name: string; log: Log }): Promise<(modelId: string) => LanguageModel>
}

// ── Presets ─────────────────────────────────────────────────────────────────────────────────────

/** One webhook of a preset's service. Its payload fits the preset's schema. */
export interface PresetRequest<Payload = unknown, Config = unknown> {
  readonly payload: Payload
  /** By names in lower case, without credentials and signatures. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** The preset's own settings, as its schema `config` says. */
  readonly config: Config
}

/** A ready-made mapping for one service's webhooks, enabled by its name in `hooks.presets`. */
export interface Preset<Payload = unknown, Config = unknown> {
  readonly kind: 'preset'
  name: string
  description: string
  /** Schema of the payloads: what the preset reads, and no more. What does not fit is answered 400. */
  payload: JsonSchema
  /** What its actions have in common: fields of an entry of `hooks.mappings`, which may be templates. */
  mapping: Readonly<Record<string, unknown>>
  /**
   * How the service signs: what `auth` of the section `hooks.<name>` is filled up with. Absent: the service shows the
   * hook token.
   */
  auth?: { readonly scheme: string; readonly [key: string]: unknown }
  /** Schema of the preset's own settings, which stand in the section `hooks.<name>`; absent: it has none. */
  config?: JsonSchema
  /**
   * The service's own id of this delivery of a webhook, the same in each of its retries. What comes twice with the same
   * id is taken once, whatever else has changed.
   */
  deliveryId?(request: PresetRequest<Payload, Config>): string | undefined
  /**
   * What becomes of one request, as a transform says it: fields over those of `mapping`, a list of several actions,
   * `null` for what nobody needs to hear of. Pure: the same request gives the same answer. A `sessionKey` must begin
   * with `hook:`. Throw `InputError` when the payload is at fault: its message reaches the sender, with status 400.
   */
  toAction?(request: PresetRequest<Payload, Config>): Exclude<TransformResult, void>
}

/** The lines of a message: what is nothing, `null`, `false` or empty is left out. */
export const lines = (...parts: readonly (string | false | null | undefined)[]): string =>
  parts.filter(Boolean).join('\n')

/** The entry of a table for a word from outside; nothing for words that are not in it, such as `constructor`. */
export const entryOf = <Value>(
  table: Readonly<Record<string, Value>>,
  word: string | null | undefined,
): Value | undefined => (typeof word === 'string' && Object.hasOwn(table, word) ? table[word] : undefined)

/**
 * A text from outside, short enough for a message: at most `length` characters, without white space around it; nothing
 * for nothing.
 */
export function clip(text: string | null | undefined, length = 2000): string {
  const trimmed = text?.trim() ?? ''
  return trimmed.length > length ? `${trimmed.slice(0, length).toWellFormed()} …` : trimmed
}

// ── Declaring ───────────────────────────────────────────────────────────────────────────────────

/** What a plugin exports by default, alone or in a list. */
export type Extension = Channel<never> | Toolset<never> | Provider<never> | Preset<never, never>

/** Declares a channel. @example export default defineChannel({ name: 'pager', … }) */
export const defineChannel = <Config>(channel: Omit<Channel<Config>, 'kind'>): Channel<Config> => ({
  kind: 'channel',
  ...channel,
})

/**
 * Declares a toolset. @example export default defineToolset({ name: 'dice', description: 'Rolls dice.', tools: [roll]
 * })
 */
export const defineToolset = <Config>(toolset: Omit<Toolset<Config>, 'kind'>): Toolset<Config> => ({
  kind: 'toolset',
  ...toolset,
})

/** Declares one tool of a toolset, with `args` of `execute` typed by hand or with `Static<typeof Args>`. */
export const defineTool = <Args>(tool: Tool<Args>): Tool => tool

/** Declares a provider of models. */
export const defineProvider = <Config>(provider: Omit<Provider<Config>, 'kind'>): Provider<Config> => ({
  kind: 'provider',
  ...provider,
})

/** Declares a preset, with the payload of `toAction` typed by hand or with `Static<typeof Payload>`. */
export const definePreset = <Payload, Config = unknown>(
  preset: Omit<Preset<Payload, Config>, 'kind'>,
): Preset<Payload, Config> => ({
  kind: 'preset',
  ...preset,
})
