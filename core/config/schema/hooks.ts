// The config section `hooks`: the webhook endpoints, their token, limits, mappings and presets.
import type { Preset } from '../../plugin/plugin.ts'
import { OptionalText, Text, Texts } from '../../field-schemas.ts'
import { type Static, Type } from '../../typebox.ts'
import { AlertRecipient, budgetKey } from './budget.ts'
import type { ConfigurableExtensions } from './extensions.ts'
import { attemptLimit } from './gateway.ts'
import { hookAuthSchema } from './hook-auth.ts'
import { overridesOf, settingsOf, withFallback } from './overrides.ts'
import { Mapping, type PresetConfig, PresetSection } from './mappings.ts'

const HookRateLimit = Type.Object(attemptLimit({ maxAttempts: 20, lockoutMs: 60_000 }), {
  additionalProperties: false,
  default: {},
  description: 'Locks out addresses that repeatedly send wrong hook tokens.',
})

const OnFailure = Type.Object(AlertRecipient.properties, {
  additionalProperties: false,
  description:
    'Who is alerted when the run of a webhook has failed, at most once per cause in ten minutes. Default: nobody.',
})

export const hooksPathSentence =
  'must be a plain path such as "/hooks": letters, digits, "-", "_", "." and "~" between single slashes'

export const HooksSection = Type.Object(
  {
    enabled: Type.Boolean({ default: false, description: 'Turns the webhook endpoints on.' }),
    token: Type.Optional(
      Type.String({
        secret: true,
        description: 'The token that senders of webhooks use. It must differ from the credential of the gateway.',
      }),
    ),
    path: Type.String({
      default: '/hooks',
      pattern: String.raw`^\s*/*(?:[\w.~-]+(?:/[\w.~-]+)*/*)?\s*$`,
      errorMessage: hooksPathSentence,
      description: 'Path prefix of the webhook endpoints.',
    }),
    maxBodyBytes: Type.Integer({
      minimum: 1,
      maximum: 67_108_864,
      default: 262_144,
      description: 'Maximum body size of a webhook in bytes.',
    }),
    replyToSender: Type.Boolean({
      default: false,
      description:
        'True: a sender of `POST /hooks/agent` that waits (`Prefer: wait`) gets the reply also if the run has read private ' +
        'data. Otherwise the reply counts as sent outward, and the rule of two applies to it.',
    }),
    keepBody: Type.Boolean({
      default: true,
      description: 'Whether request bodies are stored, to inspect and replay them. Mappings can override it.',
    }),
    maxQueuedRuns: Type.Integer({
      minimum: 1,
      default: 10_000,
      description: 'Maximum number of queued runs; beyond it webhooks get 503.',
    }),
    rateLimit: HookRateLimit,
    allowedAgentIds: Type.Optional(
      Texts('The agents that a webhook may request by id. Default: any, as with "*". An empty list: none.'),
    ),
    defaultSessionKey: OptionalText(
      'Session of agent webhooks without a session key. Default: a new session for each run, `hook:<runId>`.',
    ),
    allowRequestSessionKey: Type.Boolean({
      default: false,
      description: 'Whether the body of an agent webhook may choose its session key.',
    }),
    allowedSessionKeyPrefixes: Type.Optional(
      Texts('What an explicit session key must start with. Default: anything. An empty list accepts none.'),
    ),
    onFailure: Type.Optional(OnFailure),
    budget: budgetKey('all webhooks together'),
    mappings: Type.Array(Mapping, {
      default: [],
      description: 'How requests to other names are handled. The first mapping that matches is used.',
    }),
    presets: Texts('Names of presets. Mappings take precedence over them.', { default: [] }),
    transformsDir: Text(
      'Folder of the transforms: `transforms` in the configuration directory, or a folder inside it.',
      { path: true, default: 'transforms' },
    ),
  },
  { additionalProperties: false, default: {}, description: 'The webhook endpoints.' },
)

export type HooksConfig = Static<typeof HooksSection>

/** The section `hooks`, with a section for each preset, and with the keys of all schemes in each `auth`. */
export function hooksSection({ presets, schemes }: Pick<ConfigurableExtensions, 'presets' | 'schemes'>) {
  const { properties, ...rest } = HooksSection
  const auth = hookAuthSchema(schemes)
  const mappings = { ...properties.mappings, items: mappingSchema({ schemes }) }
  const authOverrides = overridesOf(auth) as unknown as Parameters<typeof presetSectionOf>[1]
  const sections = Array.from(presets, ([name, preset]) => [name, presetSectionOf(preset, authOverrides)])
  return Type.Unsafe<HooksConfig>({ ...rest, properties: { ...Object.fromEntries(sections), ...properties, mappings } })
}

/** One entry of `hooks.mappings`, with the keys of all schemes in its `auth`. */
export const mappingSchema = ({ schemes }: Pick<ConfigurableExtensions, 'schemes'>) => ({
  ...Mapping,
  properties: { ...Mapping.properties, auth: hookAuthSchema(schemes) },
})

/** The preset's own settings and the keys of a mapping. The rules check for missing settings. */
function presetSectionOf(preset: Preset<never>, auth: { properties: Record<string, object> }) {
  const { config = Type.Object({}), description } = preset
  const { properties } = settingsOf(config as typeof PresetSection) as { properties?: object }
  const section = {
    ...PresetSection,
    properties: {
      ...properties,
      ...withValues(PresetSection.properties, preset.mapping, (key) => 'fallback' in key),
      auth: { ...auth, properties: withValues(auth.properties, preset.auth) },
    },
    description,
  }
  return Type.Optional(Type.Unsafe<PresetConfig>(section))
}

/** Shows what the preset declares as the defaults of its keys. */
const withValues = (
  properties: Readonly<Record<string, object>>,
  declared: object = {},
  isShown: (key: object) => boolean = () => true,
) =>
  Object.fromEntries(
    Object.entries(properties).map(([name, key]) => {
      const value: unknown = (declared as Record<string, unknown>)[name]
      return [name, value === undefined || !isShown(key) ? key : withFallback(key, value)]
    }),
  )

/** The section of a preset; empty if there is none. */
export const presetSection = (hooks: HooksConfig, name: string): PresetConfig =>
  (hooks as unknown as Record<string, PresetConfig | undefined>)[name] ?? {}
