// How the sender of one webhook proves who it is: the key `auth` of a mapping or preset.
import { notBlank, type Static, Type } from '../../typebox.ts'

/** The schemes that there are. What each does is described in the table of the hooks. */
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
      description: 'When it ceases to be accepted, such as `2030-01-31T00:00:00Z`.',
    }),
  },
  { additionalProperties: false },
)

export const HookAuth = Type.Object(
  {
    scheme: Type.Enum([...hookSchemes], { description: 'How the sender proves who it is.' }),
    secret: Type.Optional(
      Secret('What the sender signs with, or sends; for public keys (`discord`, `whpk_…`) the key.'),
    ),
    secrets: Type.Optional(
      Type.Array(Type.Union([Secret('A secret.'), DatedSecret]), {
        minItems: 1,
        description: 'Several secrets that are accepted at once, so that one can replace another without a gap.',
      }),
    ),
    header: Text('For token and hmac: the header that holds the token or signature.'),
    algorithm: Type.Optional(
      Type.Enum(['sha256', 'sha1', 'sha512'], { description: 'For hmac: the hash; sha256 if left out.' }),
    ),
    encoding: Type.Optional(
      Type.Enum(['hex', 'base64'], { description: 'For hmac: how the signature is written; hex if left out.' }),
    ),
    prefix: Type.Optional(
      Type.String({ description: 'For hmac: what stands before each signature, such as `sha256=`.' }),
    ),
    separator: Text('For hmac: what stands between several signatures in the header, such as `,`.'),
    signed: Text(
      'For hmac: what is signed, of `{body}`, `{timestamp}`, `{method}`, `{url}`, `{headers.x-id}`; `{body}` if left out.',
    ),
    timestampHeader: Text('For hmac: the header that holds the time of signing.'),
    timestampPrefix: Text(
      'For hmac: what stands before the time of signing where it is in the header of the signature, such as `t=`.',
    ),
    timestampUnit: Type.Optional(
      Type.Enum(['s', 'ms'], { description: 'For hmac: the unit of the timestamp; s if left out.' }),
    ),
    secretEncoding: Type.Optional(
      Type.Enum(['utf8', 'hex', 'base64'], { description: 'For hmac: how the secret is written; utf8 if left out.' }),
    ),
    toleranceSeconds: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 86_400,
        description: 'How far a timestamp may be off, in seconds; 300 if left out, for linear 60.',
      }),
    ),
    url: Text(
      'For twilio, and hmac with `{url}`: the address of the hook as its sender calls it; the one below gateway.publicUrl if left out.',
    ),
    verifyToken: Type.Optional(Secret('For meta: the token that the app asks with when the hook is set up.')),
    audience: Text(
      'For google-oidc: the audience that the token must be made for; the address of the hook below gateway.publicUrl if left out.',
    ),
    email: Text('For google-oidc: the service account that must have made it.'),
    keysUrl: Text("For google-oidc: where the signer's public keys are; Google's if left out."),
  },
  { additionalProperties: false, description: 'How the sender proves who it is, in place of the hook token.' },
)
export type HookAuth = Static<typeof HookAuth>
