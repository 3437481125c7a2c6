// What a preset declares about its webhooks: the fields that its actions share, and how the service signs. Types only;
// the gateway checks both against the schemas of the configuration.
import type { ActionOverrides } from '../action.ts'

/** A value of JSON that is neither an object nor a list. */
export type Scalar = string | number | boolean | null

/** Tests of a value, which must all succeed. */
export interface Tests {
  /** The value is this one, of the same type. */
  equals?: Scalar
  /** The value is one of these. */
  in?: Scalar[]
  /** Whether there is a value, which may be null. */
  exists?: boolean
  /** The value is a text that starts with this one. */
  startsWith?: string
  /** The value is a text that ends with this one. */
  endsWith?: string
  /** The value is a text that contains this one, or a list that has it as an element. */
  contains?: Scalar
  /** The value is a text of this pattern: `*` stands for any characters, `?` for one. */
  matches?: string
}

/** A value, or tests that must all succeed. */
export type Condition = Scalar | (Tests & { not?: Scalar | Tests })

/** Conditions on a webhook, all of which must hold. */
export interface Conditions {
  /** Name of a header → its value, or tests of it. */
  headers?: Record<string, Condition>
  /** Path in the payload, such as `issue.state` or `items[0].id` → its value, or tests of it. */
  payload?: Record<string, Condition>
}

/** Conditions of `skip`, which may also be on the elements of `forEach`. */
export interface SkipConditions extends Conditions {
  /** With `forEach`: path in the element → its value, or tests of it. Only such elements are skipped. */
  item?: Record<string, Condition>
}

/**
 * The fields of an entry of `hooks.mappings` that a preset sets. `name`, `sessionKey`, `to`, `model`, `thinking`,
 * `idempotencyKey` and the two templates may contain `{{ path.in.the.payload }}`. The settings of the operator in
 * `hooks.<name>` take precedence.
 */
export interface PresetMapping extends Omit<ActionOverrides, 'message' | 'text' | 'thinking'> {
  /** Prompt or message for the agent. A template. */
  messageTemplate?: string
  /** Description of the event that a wake posts. A template. */
  textTemplate?: string
  /** Thinking level for this run. A template. */
  thinking?: string
  /** The requests that the preset handles. The others are answered with 404. */
  match?: Conditions & {
    /** Required value of the field `source` of the payload. */
    source?: string
  }
  /** Requests that are accepted and start nothing: conditions, or a list of which one must hold. */
  skip?: SkipConditions | SkipConditions[]
  /** Path to a list in the payload, such as `payload.items`: one action for each element, at most 200. */
  forEach?: string
  /** Fields of a form that hold JSON text, such as `payload`: the preset reads them as JSON. */
  jsonFields?: string[]
  /** `text`: a body that is neither JSON nor a form becomes `{ text }`. */
  body?: 'text'
  /** Whether the bodies of its requests are stored. Default: `hooks.keepBody`. */
  keepBody?: boolean
  /** Maximum number of its runs in progress at once; further runs wait. */
  concurrency?: number
  /** Further requests get 429. */
  rateLimit?: { maxPerMinute: number }
}

/** The schemes that are built in and need no settings in a preset. */
type PlainScheme =
  | 'discord'
  | 'gitea'
  | 'github'
  | 'gitlab'
  | 'jira'
  | 'linear'
  | 'meta'
  | 'netlify'
  | 'pagerduty'
  | 'sentry'
  | 'shopify'
  | 'slack'
  | 'standard-webhooks'
  | 'stripe'
  | 'svix'
  | 'telegram'
  | 'twilio'
  | 'zoom'

/** What a preset may set for every scheme. */
interface SharedAuth {
  /** How far a signed timestamp may differ, in seconds. Default: that of the scheme, mostly 300. */
  readonly toleranceSeconds?: number
  /** The verification requests with which the service checks the address. */
  readonly handshake?: {
    /** A GET is answered with the value of this query parameter, as text. */
    readonly query?: string
    /** A POST with this header is answered with the same header, and starts nothing. */
    readonly header?: string
    /** `true`: HEAD is answered with 200. */
    readonly head?: boolean
  }
}

/** The settings of the scheme `hmac`: the service signs with a shared secret. */
export interface HmacAuth extends SharedAuth {
  readonly scheme: 'hmac'
  /** The header with the signature. */
  readonly header: string
  /** The hash. Default: sha256. */
  readonly algorithm?: 'sha256' | 'sha1' | 'sha512'
  /** The encoding of the signature. Default: hex. */
  readonly encoding?: 'hex' | 'base64'
  /** The text before each signature, such as `sha256=`. */
  readonly prefix?: string
  /** The text between several signatures in the header, such as `,`. */
  readonly separator?: string
  /** What is signed: a text with `{body}`, `{timestamp}`, `{method}`, `{url}`, `{headers.x-id}`. Default: `{body}`. */
  readonly signed?: string
  /** The header with the time of signing. */
  readonly timestampHeader?: string
  /** The text before the time, if it is in the header of the signature, such as `t=`. */
  readonly timestampPrefix?: string
  /** The unit of the timestamp. Default: s. */
  readonly timestampUnit?: 's' | 'ms'
  /** The encoding of the secret. Default: utf8. */
  readonly secretEncoding?: 'utf8' | 'hex' | 'base64'
}

/** The settings of the scheme `token`: the service sends a secret, in this header or as it would send the hook token. */
export interface TokenAuth extends SharedAuth {
  readonly scheme: 'token'
  readonly header?: string
}

/** How a service signs: a built-in scheme with its settings, or one that `defineScheme` declares. Without a secret. */
export type PresetAuth =
  | HmacAuth
  | TokenAuth
  | (SharedAuth & { readonly scheme: PlainScheme })
  | (SharedAuth & { readonly scheme: string & {}; readonly [setting: string]: unknown })
