// The config section `gateway`: the address, the credential and the stop behavior.
import { OptionalFlag, Text, Texts } from '../../field-schemas.ts'
import { type Static, Type } from '../../typebox.ts'
import { Network, Time } from './formats.ts'
import { ClientTools, HttpTools } from './tool-policy.ts'

/** The keys of a limit on failed attempts. */
export const attemptLimit = (defaults: { maxAttempts: number; lockoutMs: number }) => ({
  maxAttempts: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: defaults.maxAttempts,
    description: 'Failed attempts that one address may make within the window.',
  }),
  windowMs: Type.Integer({
    minimum: 1000,
    maximum: 86_400_000,
    default: 60_000,
    description: 'Length of the window in milliseconds.',
  }),
  lockoutMs: Type.Integer({
    minimum: 1000,
    maximum: 86_400_000,
    default: defaults.lockoutMs,
    description: 'How long an address is locked out, in milliseconds.',
  }),
})

const AuthRateLimit = Type.Object(
  {
    ...attemptLimit({ maxAttempts: 10, lockoutMs: 300_000 }),
    exemptLoopback: Type.Boolean({
      default: true,
      description: 'Whether programs on the same machine are never locked out.',
    }),
  },
  {
    additionalProperties: false,
    description:
      'Locks out addresses that repeatedly fail to authenticate. An empty object turns it on with the defaults.',
  },
)

const AuthClient = Type.Object(
  {
    name: Type.String({
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
      errorMessage:
        'must begin with a letter or digit and have at most 64 letters, digits, dots, hyphens and underscores',
      description: 'The name of the client, in the audit log and in messages.',
    }),
    token: Type.Optional(Text('Its token. Set this or "tokenHash".', { secret: true })),
    tokenHash: Type.Optional(
      Type.String({
        secret: true,
        pattern: '^sha256:[0-9a-f]{64}$',
        errorMessage: 'must be a digest as "svc-gateway clients add" writes it: "sha256:" and 64 hexadecimal digits',
        description: 'The SHA-256 digest of its token, as "svc-gateway clients add" writes it.',
      }),
    ),
    role: Type.Enum(['viewer', 'operator', 'admin'], {
      description:
        'viewer: reads. operator: also replays, retries, cancels, approves, chats and calls tools. admin: also logs ' +
        'channels in and may change the configuration.',
    }),
    agents: Type.Optional(Texts('The agents that it may reach. Default: all, and the whole gateway.', { minItems: 1 })),
    content: OptionalFlag(
      'Whether it may read bodies, messages, replies, and the arguments and results of tools. Default: only ' +
        'if it is no viewer.',
    ),
    tools: Type.Optional(ClientTools),
    notAfter: Type.Optional(Time('Until when the token is accepted, such as "2030-01-31T00:00:00Z".')),
  },
  { additionalProperties: false, description: 'A client with a token and a role of its own.' },
)

const GatewayAuth = Type.Object(
  {
    mode: Type.Optional(
      Type.Enum(['token', 'password'], {
        description:
          'The credential that is used. Default: the password if only a password is configured, else the token.',
      }),
    ),
    token: Type.Optional(Text('The token that callers send as "Authorization: Bearer <token>".', { secret: true })),
    password: Type.Optional(
      Text('The password that callers send in the same header if the mode is "password".', { secret: true }),
    ),
    clients: Type.Array(AuthClient, {
      default: [],
      description: 'More credentials, each with a role. The credential of the gateway itself has the role admin.',
    }),
    rateLimit: Type.Optional(AuthRateLimit),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'The gateway credential, for tools, runs and the control API.',
  },
)

export const GatewaySection = Type.Object(
  {
    port: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      default: 18_789,
      description: 'The TCP port; 0 picks a free one.',
    }),
    bind: Text('The address to listen on; "0.0.0.0" opens the gateway to the network.', { default: '127.0.0.1' }),
    publicUrl: Type.Optional(
      Type.String({
        pattern: String.raw`^https?://[^\s/?#]+(?:/[^\s?#]*)?$`,
        errorMessage: 'must be an http or https URL without a query, such as "https://hooks.example.com"',
        description:
          'The public address of the gateway, such as "https://hooks.example.com". It may end in a path that a ' +
          'proxy removes.',
      }),
    ),
    auth: GatewayAuth,
    tools: HttpTools,
    trustedProxies: Type.Array(Network(), {
      default: [],
      description: 'Addresses or CIDR blocks of proxies whose X-Forwarded-For header is trusted.',
    }),
    allowedOrigins: Type.Optional(
      Type.Array(
        Type.String({
          pattern: String.raw`^https?://[^/\s]+$`,
          errorMessage: 'must be an origin without a path, such as "https://app.example.com"',
        }),
        { description: 'More origins of web pages that may call the gateway, such as "https://app.example.com".' },
      ),
    ),
    page: Type.Boolean({
      default: true,
      description: 'Whether the gateway serves its control page at "/".',
    }),
    drainSeconds: Type.Number({
      minimum: 0,
      maximum: 3600,
      default: 10,
      description: 'How long a stopping gateway waits for running work, in seconds.',
    }),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'The address, the credential and the stop behavior of the gateway.',
  },
)

export type GatewayConfig = Static<typeof GatewaySection>
export type ClientConfig = Static<typeof AuthClient>
