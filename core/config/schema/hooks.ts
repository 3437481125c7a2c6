// The config section `hooks`: the webhook endpoints, their token, their limits, what becomes of hooks of one's own
// name.
import type { Preset } from '../../plugin.ts'
import { notBlank, type Static, Type } from '../../typebox.ts'
import { overridesOf } from './overrides.ts'
import { Mapping, type PresetConfig, PresetSection } from './mappings.ts'

const HookRateLimit = Type.Object(
  {
    maxAttempts: Type.Integer({
      minimum: 1,
      maximum: 10_000,
      default: 20,
      description: 'Failed attempts that one address may make within the window.',
    }),
    windowMs: Type.Integer({
      minimum: 1000,
      maximum: 86_400_000,
      default: 60_000,
      description: 'Length of the window, in milliseconds.',
    }),
    lockoutMs: Type.Integer({
      minimum: 1000,
      maximum: 86_400_000,
      default: 60_000,
      description: 'How long an address stays locked out, in milliseconds.',
    }),
  },
  { additionalProperties: false, default: {}, description: 'Locks out addresses that keep sending wrong hook tokens.' },
)

const OnFailure = Type.Object(
  {
    channel: Type.String({
      pattern: notBlank,
      description: 'The channel: its name, or "last" for where the last message came from.',
    }),
    accountId: Type.Optional(
      Type.String({ pattern: notBlank, description: 'The account of the channel that sends it. Not set: the first.' }),
    ),
    to: Type.Optional(Type.String({ pattern: notBlank, description: 'The recipient on that channel.' })),
  },
  {
    additionalProperties: false,
    description:
      'Who is told when a run of a webhook has failed, at most once for a cause in ten minutes. Not set: nobody.',
  },
)

export const HooksSection = Type.Object(
  {
    enabled: Type.Boolean({ default: false, description: 'Turns the webhook endpoints on.' }),
    token: Type.Optional(
      Type.String({
        secret: true,
        description: 'The token that senders of webhooks use; not the credential of the gateway.',
      }),
    ),
    path: Type.String({ default: '/hooks', description: 'Path prefix of the webhook endpoints.' }),
    maxBodyBytes: Type.Integer({
      minimum: 1,
      maximum: 67_108_864,
      default: 262_144,
      description: 'Largest body of a webhook, in bytes.',
    }),
    keepBody: Type.Boolean({
      default: true,
      description: 'Whether the bodies of webhook requests are kept, to look at and to replay. A mapping may differ.',
    }),
    maxQueuedRuns: Type.Integer({
      minimum: 1,
      default: 10_000,
      description: 'How many accepted runs may wait; beyond it webhooks are answered 503.',
    }),
    rateLimit: HookRateLimit,
    allowedAgentIds: Type.Optional(
      Type.Array(Type.String({ pattern: notBlank }), {
        description:
          'The agents that a webhook may ask for by id. Not set or containing "*": any. An empty list: none.',
      }),
    ),
    defaultSessionKey: Type.Optional(
      Type.String({
        pattern: notBlank,
        description: 'Session of agent webhooks that name none. Not set: each gets a session of its own.',
      }),
    ),
    allowRequestSessionKey: Type.Boolean({
      default: false,
      description: 'Whether the body of an agent webhook may choose its session key.',
    }),
    allowedSessionKeyPrefixes: Type.Optional(
      Type.Array(Type.String({ pattern: notBlank }), {
        description:
          'What an explicit session key must begin with. Not set: anything. An empty list: none is accepted.',
      }),
    ),
    onFailure: Type.Optional(OnFailure),
    mappings: Type.Array(Mapping, {
      default: [],
      description: 'What becomes of hooks of other names; the first that matches a request has it.',
    }),
    presets: Type.Array(Type.String({ pattern: notBlank }), {
      default: [],
      description: 'Ready-made mappings, by their names; they come after the mappings.',
    }),
    transformsDir: Type.String({
      pattern: notBlank,
      path: true,
      default: 'transforms',
      description:
        'Folder of the transforms, relative to the configuration directory: `transforms` in it, or a folder inside that.',
    }),
  },
  { additionalProperties: false, default: {}, description: 'The webhook endpoints, their token, their limits.' },
)

export type HooksConfig = Static<typeof HooksSection>

/** The section `hooks` with a section for each preset. */
export function hooksSection(presets: ReadonlyMap<string, Preset<never>>) {
  const { properties, ...rest } = HooksSection
  const sections = Array.from(presets, ([name, preset]) => [name, Type.Optional(presetSectionOf(preset))])
  return Type.Unsafe<HooksConfig>({ ...rest, properties: { ...Object.fromEntries(sections), ...properties } })
}

/** The preset's own settings and the keys of a mapping. What its settings lack is found by the rules. */
function presetSectionOf({ config = Type.Object({}), description }: Preset<never>) {
  const { properties } = overridesOf(config as typeof PresetSection) as { properties?: object }
  return Type.Unsafe<PresetConfig>({
    ...PresetSection,
    properties: { ...properties, ...PresetSection.properties },
    description,
  })
}

/** The section of one preset; empty where there is none. */
export const presetSection = (hooks: HooksConfig, name: string): PresetConfig =>
  (hooks as unknown as Record<string, PresetConfig | undefined>)[name] ?? {}
