// How services sign their webhooks, as data: the signature header, the signed content, the timestamp and the secret.
import type { HookScheme } from '../../config/schema/hook-auth.ts'
import { acknowledgeInteraction, answerPing } from './discord.ts'
import { answerSlack, answerZoom, type Handshake } from './handshakes.ts'
import { netlifyText } from './netlify.ts'
import { twilioText } from './twilio.ts'
import type { ServiceReply, SignedRequest } from './verifier.ts'

/** Where the timestamp is: in a header, after a prefix in the signature header, or in a field of the JSON body. */
export type TimestampSource = { header: string } | { prefix: string } | { field: string }

export interface Signing {
  /** The header that holds the signature, in lower case. */
  header: string
  algorithm: 'sha256' | 'sha1' | 'sha512' | 'ed25519'
  encoding: 'hex' | 'base64' | 'base64url'
  /** The prefix of each signature. A value with another prefix is not a signature of this scheme. */
  prefix: string
  /** Separates several signatures. Absent: there is one signature. */
  separator?: string | undefined
  /**
   * The signed content: a text with `{body}`, `{timestamp}`, `{method}`, `{url}` and `{headers.x-id}`, or a function
   * where a text does not suffice. The function returns undefined when the request cannot be valid.
   */
  signed: string | ((request: SignedRequest) => string | undefined)
  /** The signed header that holds the id of the request. */
  id?: string
  timestamp?: { source: TimestampSource; unitMs: 1 | 1000; toleranceSeconds: number } | undefined
  secretEncoding: 'utf8' | 'hex' | 'base64'
  /** A prefix of the secret that is not part of the key. */
  secretPrefix?: string
  handshake?: Handshake
  /** Returns the reply to an accepted or skipped payload. Absent: the service is content with any reply. */
  acknowledge?: (payload: Readonly<Record<string, unknown>>) => ServiceReply | undefined
}

/** Schemes whose senders show a secret instead of signing, and its header. Undefined: the headers of the hook token. */
export const tokenHeaders: Partial<Record<HookScheme, string | undefined>> = {
  token: undefined,
  gitlab: 'x-gitlab-token',
  telegram: 'x-telegram-bot-api-secret-token',
}

/** The most common scheme, on which the others are based: the hex HMAC-SHA256 of the body. */
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

/** A request is valid when one of the signings of its scheme accepts it. */
export const signings: Partial<Record<HookScheme, readonly Signing[]>> = {
  'standard-webhooks': standardSignings,
  svix: standardSignings,
  github: [githubSigning],
  meta: [githubSigning],
  jira: [{ ...githubSigning, header: 'x-hub-signature' }],
  sentry: [{ ...plainSigning, header: 'sentry-hook-signature' }],
  gitea: ['x-gitea-signature', 'x-forgejo-signature', 'x-gogs-signature'].map(bodySigning),
  shopify: [{ ...plainSigning, header: 'x-shopify-hmac-sha256', encoding: 'base64' }],
  pagerduty: [{ ...plainSigning, header: 'x-pagerduty-signature', separator: ',', prefix: 'v1=' }],
  twilio: [
    { ...plainSigning, header: 'x-twilio-signature', algorithm: 'sha1', encoding: 'base64', signed: twilioText },
  ],
  netlify: [
    { ...plainSigning, header: 'x-webhook-signature', encoding: 'base64url', separator: '.', signed: netlifyText },
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
      handshake: answerSlack,
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
      handshake: answerPing,
      acknowledge: acknowledgeInteraction,
    },
  ],
}

function bodySigning(header: string): Signing {
  return { ...plainSigning, header }
}

/** Standard Webhooks, and Svix, on which it is based: with a shared secret, or with a key pair. */
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
