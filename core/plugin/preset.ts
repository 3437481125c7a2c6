// The contract of a preset: a ready-made mapping for the webhooks of one service.
import type { ActionOverrides } from '../action.ts'
import type { ExtensionContext, Json } from './context.ts'
import type { Panel } from './panel.ts'
import type { JsonSchema } from '../typebox.ts'
import type { PresetAuth, PresetMapping } from './preset-mapping.ts'

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
  /** What all of its actions share. */
  mapping: Readonly<PresetMapping>
  /**
   * How the service signs its requests: the name of a scheme, which may be a `defineScheme` of the same module, and its
   * settings. The operator adds the secret in `hooks.<name>.auth`. Absent: the service sends the hook token.
   */
  auth?: PresetAuth
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
  toAction?(request: PresetRequest<Payload, Config>): ActionOverrides | ActionOverrides[] | null | undefined
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
  /** A part of the control page, which is shown while the preset is enabled. */
  panel?: Panel
}

/** Declares a preset. Type its payload by hand or with `Static<typeof Payload>`. */
export const definePreset = <Payload, Config = unknown>(
  preset: Omit<Preset<Payload, Config>, 'kind'>,
): Preset<Payload, Config> => ({
  kind: 'preset',
  ...preset,
})
