// The contract of a scheme: how the senders of webhooks authenticate. Most schemes are data; a function says the rest.
import type { JsonSchema } from '../typebox.ts'

/** A request whose sender is to be verified. */
export interface SignedRequest {
  /**
   * Returns the value of a header.
   * @param name in lower case
   * @throws an error with which the gateway answers 400 if the header is repeated
   */
  header: (name: string) => string | undefined
  /** The body as received: a body that was parsed and serialized again has another signature. */
  rawBody: Buffer
  method: string
  /** Returns the complete URL that the sender called. */
  url: () => string
  /** Milliseconds since 1970. */
  now: number
}

/** A request that `verify` judges. */
export interface VerifyRequest extends SignedRequest {
  /** The configured secrets that have not expired. */
  secrets: readonly string[]
  /** Aborted when the time limit of 10 seconds is exceeded. */
  signal: AbortSignal
}

/**
 * `secretIndex`: the position in `secrets` of the secret that matched. `id`: the id of the request, if the signature
 * covers it; the gateway accepts one request per id. `reason` is for the log only: it would help an attacker. It must
 * contain no secret.
 */
export type Verdict =
  | { ok: true; secretIndex?: number | undefined; id?: string | undefined }
  | { ok: false; reason: string }

/** A reply that a service expects instead of the gateway's own: a text, or an object that is sent as JSON. */
export type SchemeReply = string | object

/** The payload of a verified request; empty if its body is not a JSON object. */
export type SchemePayload = Readonly<Record<string, unknown>>

/** Where the time of signing is: in a header, after a prefix in the signature header, or in a field of the JSON body. */
export type TimestampSource = { header: string } | { prefix: string } | { field: string }

/** How a service signs: which header holds the signature, and what it covers. */
export interface Signature {
  /** The header that holds the signature, in lower case. */
  header: string
  /** The hash of the HMAC, or a key pair. Default: sha256. */
  algorithm?: 'sha256' | 'sha1' | 'sha512' | 'ed25519' | undefined
  /** The encoding of the signature. Default: hex. */
  encoding?: 'hex' | 'base64' | 'base64url' | undefined
  /** The text before each signature, such as `v1=`. A value with another prefix is not a signature. */
  prefix?: string | undefined
  /** The text between several signatures in the header. Absent: there is one signature. */
  separator?: string | undefined
  /**
   * The signed content: a text with `{body}`, `{timestamp}`, `{method}`, `{url}` and `{headers.x-id}`, or a function
   * where a text does not suffice. The function returns undefined if the request cannot be valid. Default: `{body}`.
   */
  signed?: string | ((request: SignedRequest) => string | undefined) | undefined
  /** The time of signing. `unit` is that of the number; default: s. `toleranceSeconds`: default 300. */
  timestamp?: (TimestampSource & { unit?: 's' | 'ms' | undefined; toleranceSeconds?: number | undefined }) | undefined
  /** The signed header that holds the id of the request, in lower case. The gateway accepts one request per id. */
  id?: string | undefined
  /** How the configured secret or public key is encoded. Default: utf8. */
  secretEncoding?: 'utf8' | 'hex' | 'base64' | undefined
  /**
   * The beginning of the secret that is not part of the key, such as `whsec_`. If the signatures of a scheme have
   * different ones, they tell which signature a secret is for. A secret without any of them is for those with a hash.
   */
  secretPrefix?: string | undefined
}

/** A header in which senders show the secret itself. */
export interface TokenHeader {
  /** The name of the header, in lower case. */
  header: string
  /** The word before the secret, such as `Bearer`, in any case. A value without it holds no secret. */
  word?: string | undefined
}

/** What is wrong with the settings of a scheme, or questionable. */
export interface SchemeProblem {
  /** The key of `auth`. */
  key: string
  /** The end of a sentence that begins with the key: `is required; set the service account`. */
  problem: string
}

/** What the functions of a scheme learn beside their settings. */
export interface SchemeContext {
  /** The URL of the hook, if the configuration tells it (`gateway.publicUrl`). */
  hookUrl: string | undefined
}

/** A request that is to be sent to a hook as its service would send it. */
export interface OutgoingRequest {
  /** The address that is called. */
  url: string
  /** By name in lower case. */
  headers: Readonly<Record<string, string>>
  body: Buffer
}

/** What `sign` gets beside the request. */
export interface SignContext<Settings = unknown> {
  /** The first valid secret; empty if the scheme has no secrets. */
  secret: string
  settings: Settings
  /** Milliseconds since 1970. */
  now: number
  /** Returns the URL that the signature covers when `called` is called. */
  signedUrl(called: string): string
}

/**
 * How the senders of webhooks authenticate. A mapping or preset names it in `auth.scheme`. Declare one of `signatures`,
 * `tokens` and `createVerifier`.
 */
export interface Scheme<Settings = unknown> {
  readonly kind: 'scheme'
  name: string
  description: string
  /**
   * Schema of the keys that the scheme adds to `auth`. `secret`, `secrets`, `toleranceSeconds` (if there is a
   * timestamp), `url` (if the signature covers it) and `handshake` belong to the gateway.
   */
  config?: JsonSchema
  /** Checks what the schema cannot express. Its settings fit the schema; it gets `url` and `toleranceSeconds`, too. */
  findProblems?(settings: Settings, context: SchemeContext): Iterable<SchemeProblem>
  /**
   * What a valid secret is, as the end of "must be …": `the public key of the application: 64 hexadecimal digits`.
   * `false`: there are no secrets. Absent: the gateway describes it.
   */
  secret?: string | false
  /** How the service signs. A request is valid if one of the signatures accepts it. */
  signatures?: readonly Signature[] | ((settings: Settings) => readonly Signature[])
  /** The headers in which senders show the secret. The first one that holds a value counts. */
  tokens?: readonly TokenHeader[] | ((settings: Settings) => readonly TokenHeader[])
  /**
   * Prepares a function that verifies a request, where data cannot say it. The gateway calls it once, before the first
   * request. Compare secrets with `createMatcher` of `svc-gateway/kit`, in constant time. A function that throws,
   * exceeds its time limit, or returns anything but a `Verdict` accepts nothing: the sender gets 500, and the log names
   * the scheme.
   */
  createVerifier?(settings: Settings, context: SchemeContext): (request: VerifyRequest) => Verdict | Promise<Verdict>
  /** More headers, in lower case, that hold a secret or a signature. They are neither stored nor shown. */
  hiddenHeaders?: readonly string[]
  /** What functions cover, besides the sender. `signatures` always cover the body, and the URL if they say `{url}`. */
  covers?: readonly ('body' | 'url')[]
  /**
   * Signs a request for `svc-gateway trigger`. Returns what it changes. Absent: the gateway signs as `signatures` or
   * `tokens` say. Throw `InputError` if the request cannot be signed.
   */
  sign?(request: OutgoingRequest, context: SignContext<Settings>): Partial<OutgoingRequest>
  /**
   * Returns the reply if a verified request only checks the address. It starts nothing then.
   * @param secret the one that the sender used; empty if there is none
   */
  answerHandshake?(payload: SchemePayload, secret: string): SchemeReply | undefined
  /**
   * Prepares a function that answers a GET with which the service checks the address. The function returns undefined
   * for a sender that does not prove itself, who gets 401. Returns undefined if these settings allow no such request.
   */
  createChallenge?(settings: Settings): ((query: URLSearchParams) => SchemeReply | undefined) | undefined
  /** Returns the reply to an accepted or skipped event. Absent: the service is content with any reply. */
  acknowledge?(payload: SchemePayload): SchemeReply | undefined
}

/** Declares a scheme. Type its settings by hand or with `Static<typeof Config>`. */
export const defineScheme = <Settings = unknown>(scheme: Omit<Scheme<Settings>, 'kind'>): Scheme<Settings> => ({
  kind: 'scheme',
  ...scheme,
})
