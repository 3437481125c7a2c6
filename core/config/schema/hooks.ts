// The config section `hooks`: the webhook endpoints, their token, their limits.
import { notBlank, type Static, Type } from '../../typebox.ts'

const HookRateLimit = Type.Object(
  {
    maxAttempts: Type.Integer({ minimum: 1, maximum: 10_000, default: 20, description: 'Failed attempts that one address may make within the window.' }),
    windowMs: Type.Integer({ minimum: 1000, maximum: 86_400_000, default: 60_000, description: 'Length of the window, in milliseconds.' }),
    lockoutMs: Type.Integer({ minimum: 1000, maximum: 86_400_000, default: 60_000, description: 'How long an address stays locked out, in milliseconds.' }),
  },
  { additionalProperties: false, default: {}, description: 'Locks out addresses that keep sending wrong hook tokens.' },
)

export const HooksSection = Type.Object(
  {
    enabled: Type.Boolean({ default: false, description: 'Turns the webhook endpoints on.' }),
    token: Type.Optional(Type.String({ secret: true, description: 'The token that senders of webhooks use; not the credential of the gateway.' })),
    path: Type.String({ default: '/hooks', description: 'Path prefix of the webhook endpoints.' }),
    maxBodyBytes: Type.Integer({ minimum: 1, maximum: 67_108_864, default: 262_144, description: 'Largest body of a webhook, in bytes.' }),
    maxQueuedRuns: Type.Integer({ minimum: 1, default: 10_000, description: 'How many accepted runs may wait; beyond it webhooks are answered 503.' }),
    rateLimit: HookRateLimit,
    allowedAgentIds: Type.Optional(
      Type.Array(Type.String({ pattern: notBlank }), {
        description: 'The agents that a webhook may ask for by id. Not set or containing "*": any. An empty list: none.',
      }),
    ),
    defaultSessionKey: Type.Optional(
      Type.String({ pattern: notBlank, description: 'Session of agent webhooks that name none. Not set: each gets a session of its own.' }),
    ),
    allowRequestSessionKey: Type.Boolean({ default: false, description: 'Whether the body of an agent webhook may choose its session key.' }),
    allowedSessionKeyPrefixes: Type.Optional(
      Type.Array(Type.String({ pattern: notBlank }), {
        description: 'What an explicit session key must begin with. Not set: anything. An empty list: none is accepted.',
      }),
    ),
  },
  { additionalProperties: false, default: {}, description: 'The webhook endpoints, their token, their limits.' },
)

export type HooksConfig = Static<typeof HooksSection>
