// What a test gives the preset contract: sample requests, a signed one, and the service of a job.
import type { Scheme } from '../../core/plugin/plugin.ts'

/** One request of the service. */
export interface PresetSample {
  /** A few words for the title of the test. */
  what: string
  payload: unknown
  /** By name in lower case. */
  headers?: Readonly<Record<string, string>>
  /** Settings for this request, in place of those of the case. */
  config?: Readonly<Record<string, unknown>>
  /** Fields of the expected action, such as `message` and `sessionKey`, or of each of several. Absent: any. */
  result?: ExpectedAction | readonly ExpectedAction[]
}

/** Fields of an action that a test expects. */
export type ExpectedAction = Readonly<Record<string, unknown>>

/** A request as the service signs it. */
export interface SignedSample {
  /** The operator's part of `auth`: the secret. */
  auth: Readonly<Record<string, unknown>>
  headers: Readonly<Record<string, string>>
  body: string
  /** When it was signed, in milliseconds since 1970; absent: now. */
  at?: number
  /** The address that the service called, for schemes that sign it. */
  url?: string
}

/** A service that the job of a preset talks to. */
export interface JobCase<Config> {
  /** Settings that need the job. */
  config: () => Config
  /** Makes the service report one more event. */
  emit(): unknown
}

export interface PresetCase<Config> {
  /** The preset's own settings, if it has any. */
  config?: Config
  /** Requests that become actions. */
  accepted: readonly PresetSample[]
  /** Requests that start nothing. */
  skipped?: readonly PresetSample[]
  /** Requests that are answered 400. */
  refused?: readonly PresetSample[]
  /** Required for a preset with `start`: a service on this machine. */
  job?: JobCase<Config>
  /** Required for a preset with `auth`, unless its scheme has no secrets because the service signs with its own keys. */
  signed?: SignedSample
  /** The scheme of the preset, unless it is a built-in one. */
  scheme?: Scheme<never>
  /** How old a request may be, for a scheme that checks its time in a function. */
  toleranceSeconds?: number
  /** The service sends the hook token, since it can be given a header or an address. Required without `auth`. */
  hookToken?: boolean
  /** All requests belong to one session. Otherwise at least two of the accepted ones must have different sessions. */
  oneSession?: boolean
}
