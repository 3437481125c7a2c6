// How services sign their webhooks, as data: where the signature is, what is signed, how the time and the secret are
// written.
import type { HookScheme } from '../../config/schema/hook-auth.ts'
import { twilioText } from './twilio.ts'
import type { HandshakeReply, SignedRequest } from './verifier.ts'

/**
 * Where the time of signing is: in a header, in the header of the signature behind a prefix, or in a field of the JSON
 * body.
 */
export type TimestampSource = { header: string } | { prefix: string } | { field: string }

export interface Signing {
  /** The header that holds the signature, in lower case. */
  header: string
  algorithm: 'sha256' | 'sha1' | 'sha512' | 'ed25519'
  encoding: 'hex' | 'base64'
  /** What stands before each signature. What has another prefix is no signature of this scheme. */
  prefix: string
  /** What stands between several signatures. Absent: there is one. */
  separator?: string | undefined
  /**
   * What is signed: a text with `{body}`, `{timestamp}`, `{method}`, `{url}`, `{headers.x-id}`, or a function for what
   * no text can say.
   */
  signed: string | ((request: SignedRequest) => string | undefined)
  /** The header, among those that are signed, that holds the id of the delivery. */
  id?: string
  timestamp?: { source: TimestampSource; unitMs: 1 | 1000; toleranceSeconds: number } | undefined
  secretEncoding: 'utf8' | 'hex' | 'base64'
  /** Stands before the secret and is no part of it. */
  secretPrefix?: string
  handshake?: Handshake
}

/** Whether a signed payload is such a question, and its answer. `sign` signs with the secret that was used. */
export type Handshake = (
  payload: Readonly<Record<string, unknown>>,
  sign: (text: string) => string,
) => HandshakeReply | undefined

/**
 * Schemes in which the sender shows a secret instead of signing with it, and the header; undefined: as the hook token
 * is sent.
 */
export const tokenHeaders: Partial<Record<HookScheme, string | undefined>> = {
  token: undefined,
  gitlab: 'x-gitlab-token',
  telegram: 'x-telegram-bot-api-secret-token',
}

/** Hex of the SHA-256 HMAC of the body: what most services do, and what the others differ from. */
export const plainSigning = {
  algorithm: 'sha256',
  encoding: 'hex',
  prefix: '',
  signed: '{body}',
  secretEncoding: 'utf8',
} as const satisfies Partial<Signing>

const seconds = { unitMs: 1000, toleranceSeconds: 300 } as const
const githubSigning: Signing = { ...plainSigning, header: 'x-hub-signature-256', prefix: 'sha256=' }
const standardSignings = ['webhook', 'svix'].flatMap(standardWebhooks)

/** Where there are several, one whose header the request has must accept it. */
export const signings: Partial<Record<HookScheme, readonly Signing[]>> = {
  'standard-webhooks': standardSignings,
  svix: standardSignings,
  github: [githubSigning],
  meta: [githubSigning],
  jira: [{ ...githubSigning, header: 'x-hub-signature' }],
  sentry: [{ ...plainSigning, header: 'sentry-hook-signature' }],
  shopify: [{ ...plainSigning, header: 'x-shopify-hmac-sha256', encoding: 'base64' }],
  pagerduty: [{ ...plainSigning, header: 'x-pagerduty-signature', separator: ',', prefix: 'v1=' }],
  twilio: [
    { ...plainSigning, header: 'x-twilio-signature', algorithm: 'sha1', encoding: 'base64', signed: twilioText },
  ],
  stripe: [
    {
      ...plainSigning,
      header: 'stripe-signature',
      separator: ',',
      prefix: 'v1=',
      signed: '{timestamp}.{body}',
      timestamp: { source: { prefix: 't=' }, ...seconds },
    },
  ],
  linear: [
    {
      ...plainSigning,
      header: 'linear-signature',
      timestamp: { source: { field: 'webhookTimestamp' }, unitMs: 1, toleranceSeconds: 60 },
    },
  ],
  slack: [
    {
      ...plainSigning,
      header: 'x-slack-signature',
      prefix: 'v0=',
      signed: 'v0:{timestamp}:{body}',
      timestamp: { source: { header: 'x-slack-request-timestamp' }, ...seconds },
      handshake: ({ type, challenge }) =>
        type === 'url_verification' && typeof challenge === 'string' ? plainText(challenge) : undefined,
    },
  ],
  zoom: [
    {
      ...plainSigning,
      header: 'x-zm-signature',
      prefix: 'v0=',
      signed: 'v0:{timestamp}:{body}',
      timestamp: { source: { header: 'x-zm-request-timestamp' }, ...seconds },
      handshake: answerZoom,
    },
  ],
  discord: [
    {
      ...plainSigning,
      header: 'x-signature-ed25519',
      algorithm: 'ed25519',
      signed: '{timestamp}{body}',
      secretEncoding: 'hex',
      timestamp: { source: { header: 'x-signature-timestamp' }, ...seconds },
      handshake: ({ type }) => (type === 1 ? json({ type: 1 }) : undefined),
    },
  ],
}

/** Standard Webhooks, and Svix, where it comes from: a shared secret, or a key pair. */
function standardWebhooks(family: string): Signing[] {
  const shared: Signing = {
    ...plainSigning,
    header: `${family}-signature`,
    encoding: 'base64',
    separator: ' ',
    prefix: 'v1,',
    signed: `{headers.${family}-id}.{timestamp}.{body}`,
    id: `${family}-id`,
    timestamp: { source: { header: `${family}-timestamp` }, ...seconds },
    secretEncoding: 'base64',
    secretPrefix: 'whsec_',
  }
  return [shared, { ...shared, algorithm: 'ed25519', prefix: 'v1a,', secretPrefix: 'whpk_' }]
}

function answerZoom(
  { event, payload }: Parameters<Handshake>[0],
  sign: Parameters<Handshake>[1],
): HandshakeReply | undefined {
  const plainToken = (payload as { plainToken?: unknown } | null | undefined)?.plainToken
  if (event !== 'endpoint.url_validation' || typeof plainToken !== 'string') return undefined
  return json({ plainToken, encryptedToken: sign(plainToken) })
}

/** An echo is plain text, so that no browser takes it for a page. */
export const plainText = (body: string): HandshakeReply => ({ contentType: 'text/plain; charset=utf-8', body })

const json = (value: object): HandshakeReply => ({
  contentType: 'application/json; charset=utf-8',
  body: JSON.stringify(value),
})
