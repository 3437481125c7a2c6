// The key `auth` of a mapping or preset: how senders of a webhook authenticate.
import { notBlank, type Static, Type } from '../../typebox.ts'

/** All schemes. `hooks/auth/service-signatures.ts` defines them. */
export const hookSchemes = [
  'token',
  'hmac',
  'standard-webhooks',
  'svix',
  'github',
  'stripe',
  'slack',
  'sentry',
  'linear',
  'pagerduty',
  'gitlab',
  'jira',
  'shopify',
  'gitea',
  'netlify',
  'twilio',
  'discord',
  'telegram',
  'meta',
  'zoom',
  'google-oidc',
] as const
export type HookScheme = (typeof hookSchemes)[number]

const Text = (description: string) => Type.Optional(Type.String({ pattern: notBlank, description }))
const Secret = (description: string) => Type.String({ pattern: notBlank, secret: true, description })

const DatedSecret = Type.Object(
  {
    secret: Secret('The secret.'),
    notAfter: Type.String({
      pattern: notBlank,
      description: 'When it expires, such as `2030-01-31T00:00:00Z`.',
    }),
  },
  { additionalProperties: false },
)

const Handshake = Type.Object(
  {
    query: Text('A GET is answered with the value of this query parameter, as text.'),
    header: Text('A POST with this header is answered with the same header, and starts nothing.'),
    head: Type.Optional(Type.Boolean({ description: '`true`: HEAD is answered with 200.' })),
  },
  {
    additionalProperties: false,
    minProperties: 1,
    description: 'The verification requests with which the service checks the address.',
  },
)

export const HookAuth = Type.Object(
  {
    scheme: Type.Enum([...hookSchemes], { description: 'How the sender authenticates.' }),
    secret: Type.Optional(
      Secret('The secret that the sender signs with or sends, or its public key (`discord`, `whpk_…`).'),
    ),
    secrets: Type.Optional(
      Type.Array(Type.Union([Secret('A secret.'), DatedSecret]), {
        minItems: 1,
        description: 'Several valid secrets, for rotation.',
      }),
    ),
    header: Text('For token and hmac: the header with the token or signature.'),
    algorithm: Type.Optional(
      Type.Enum(['sha256', 'sha1', 'sha512'], { description: 'For hmac: the hash. Default: sha256.' }),
    ),
    encoding: Type.Optional(
      Type.Enum(['hex', 'base64'], { description: 'For hmac: the encoding of the signature. Default: hex.' }),
    ),
    prefix: Type.Optional(Type.String({ description: 'For hmac: the text before each signature, such as `sha256=`.' })),
    separator: Text('For hmac: the text between several signatures in the header, such as `,`.'),
    signed: Text(
      'For hmac: what is signed, a text with `{body}`, `{timestamp}`, `{method}`, `{url}`, `{headers.x-id}`. ' +
        'Default: `{body}`.',
    ),
    timestampHeader: Text('For hmac: the header with the time of signing.'),
    timestampPrefix: Text('For hmac: the text before the time, if it is in the header of the signature, such as `t=`.'),
    timestampUnit: Type.Optional(
      Type.Enum(['s', 'ms'], { description: 'For hmac: the unit of the timestamp. Default: s.' }),
    ),
    secretEncoding: Type.Optional(
      Type.Enum(['utf8', 'hex', 'base64'], { description: 'For hmac: the encoding of the secret. Default: utf8.' }),
    ),
    toleranceSeconds: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 86_400,
        description: 'How far a timestamp may differ, in seconds. Default: 300, for linear 60.',
      }),
    ),
    url: Text(
      'For twilio, and hmac with `{url}`: the complete URL that the sender calls. Default: below gateway.publicUrl.',
    ),
    verifyToken: Type.Optional(Secret('For meta: the token of the verification request.')),
    handshake: Type.Optional(Handshake),
    audience: Text('For google-oidc: the required audience. Default: the URL of the hook below gateway.publicUrl.'),
    email: Text('For google-oidc: the required service account.'),
    keysUrl: Text("For google-oidc: the URL of the public keys. Default: Google's."),
  },
  { additionalProperties: false, description: 'How the sender authenticates, instead of the hook token.' },
)
export type HookAuth = Static<typeof HookAuth>
