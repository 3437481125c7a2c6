// The config sections whose keys depend on the loaded extensions: `channels`, `tools`, `providers`.
import type { Channel, Preset, Provider, Scheme, Toolset } from '../../plugin/plugin.ts'
import { OptionalText, Texts } from '../../field-schemas.ts'
import { type JsonSchema, type Static, Type } from '../../typebox.ts'
import { type BudgetConfig, budgetKey } from './budget.ts'
import { DurationOrZero } from './formats.ts'
import { overridesOf, settingsOf } from './overrides.ts'
import {
  ChannelGroups,
  type EffectsConfig,
  effectsKey,
  narrowChatsKey,
  policyKeys,
  type RenameConfig,
  renameKey,
  type SubagentsConfig,
  subagentsKey,
  trustedKey,
  type ToolPolicyConfig,
} from './tool-policy.ts'

/** The loaded extensions, by name. */
export interface ConfigurableExtensions {
  channels: ReadonlyMap<string, Channel<never>>
  toolsets: ReadonlyMap<string, Toolset<never>>
  providers: ReadonlyMap<string, Provider<never>>
  presets: ReadonlyMap<string, Preset<never>>
  schemes: ReadonlyMap<string, Scheme<never>>
  /** Extensions that plugins would bring if they had not been refused. */
  refused?: readonly RefusedExtension[]
}

/** Without a name, the whole plugin was refused, so nobody knows what it brings. */
export interface RefusedExtension {
  kind?: string
  name?: string
}

/** The keys of the gateway that a channel and each of its accounts may set, and the settings of the channel. */
export type AccountConfig = Static<Type.TObject<typeof accountKeys>> & { [key: string]: unknown }

/** A section `channels.<name>`: keys of the gateway and of the channel. */
export interface ChannelConfig extends AccountConfig {
  enabled: boolean
  accounts?: Record<string, AccountConfig>
  budget?: BudgetConfig[]
}

/** A section `providers.<name>`: keys of the gateway and of the provider. */
export interface ProviderConfig {
  kind: string
  firstTokenTimeout?: string | number
  [key: string]: unknown
}

export interface ToolsConfig extends ToolPolicyConfig {
  subagents: SubagentsConfig
  timeoutSeconds: number
  effects?: EffectsConfig
  trusted?: readonly string[]
  narrowChats: boolean
  rename?: RenameConfig
  /** The section of a toolset, by its name. */
  [toolset: string]: unknown
}

const dmPolicyText =
  'What happens to direct messages of senders that are not in allowFrom. "allowlist": they are ignored. ' +
  '"pairing": the sender gets a code that the operator approves. "open": they are accepted.'

const directSessionText =
  'The session of direct messages. "main": the main session of the agent; each stranger has a session of its own. ' +
  '"sender": each sender has one. "shared": the main session, also for strangers.'

const groupsText =
  'Settings for groups and channels of the platform. A group that is neither listed nor covered by "*" is closed.'

/** An account without a key takes the value of its channel. */
const accountKeys = accessKeys({
  allowFrom: { text: 'that of the channel' },
  dmPolicy: { text: 'that of the channel' },
  directSession: { text: 'that of the channel' },
  agentId: { text: 'that of the channel' },
  groups: { text: 'those of the channel' },
})

const channelKeys = {
  enabled: Type.Boolean({ default: true, description: 'Whether the channel is connected.' }),
  ...accessKeys({
    allowFrom: { text: 'nobody' },
    dmPolicy: { text: '"allowlist"', fallback: 'allowlist' },
    directSession: { text: '"main"', fallback: 'main' },
    agentId: { text: 'the default agent' },
    groups: { text: 'all groups are open to the senders in allowFrom' },
  }),
  budget: budgetKey('the messages of the channel'),
}

interface AccessDefault {
  /** The default in words. */
  text: string
  /** Shown in the JSON Schema. */
  fallback?: string
}

/** Who may write, and to which agent and session. */
function accessKeys(
  defaults: Record<'allowFrom' | 'dmPolicy' | 'directSession' | 'agentId' | 'groups', AccessDefault>,
) {
  const describe = (description: string, { text, ...shown }: AccessDefault) => ({
    ...shown,
    description: `${description} Default: ${text}.`,
  })
  const { allowFrom, agentId, groups } = defaults
  return {
    allowFrom: Type.Optional(
      Texts(describe('Who may write to the agent, by sender id; ["*"] for everybody.', allowFrom).description),
    ),
    dmPolicy: Type.Optional(Type.Enum(['allowlist', 'pairing', 'open'], describe(dmPolicyText, defaults.dmPolicy))),
    directSession: Type.Optional(
      Type.Enum(['main', 'sender', 'shared'], describe(directSessionText, defaults.directSession)),
    ),
    agentId: OptionalText(describe('The agent that answers.', agentId).description),
    defaultTo: OptionalText('The recipient if neither the request nor an earlier message names one.'),
    groups: Type.Optional(ChannelGroups(describe(groupsText, groups).description)),
  }
}

/** The keys of a channel's section that belong to the gateway. All others are settings of the channel. */
export const gatewayKeysOfChannel: ReadonlySet<string> = new Set([...Object.keys(channelKeys), 'accounts'])

/** The section `channels`. The rules check for missing keys, because they may be in the section or in the account. */
export function channelsSection(channels: ConfigurableExtensions['channels']) {
  const sections = [...channels].map(([name, channel]) => [name, Type.Optional(channelSection(channel))])
  return Type.Unsafe<Record<string, ChannelConfig>>(
    Type.Object(Object.fromEntries(sections), {
      additionalProperties: false,
      default: {},
      description: 'The messaging channels by their names.',
    }),
  )
}

function channelSection({ config, description }: Channel<never>) {
  const schema = objectSchema(config)
  const { properties, additionalProperties } = settingsOf(schema) as unknown as ObjectSchema
  const account = {
    type: 'object',
    properties: { ...(overridesOf(schema) as unknown as ObjectSchema).properties, ...accountKeys },
    additionalProperties,
  }
  const accounts = {
    type: 'object',
    additionalProperties: { ...account, description: 'One account. Its settings override those of the channel.' },
    description: 'Several accounts by their ids. Default: the section itself is the only account.',
  }
  return Type.Unsafe<ChannelConfig>({
    ...account,
    properties: { ...properties, ...channelKeys, accounts },
    required: ['enabled'],
    description,
  })
}

/** The section `tools`. */
export function toolsSection(toolsets: ConfigurableExtensions['toolsets']) {
  const sections = [...toolsets].flatMap(([name, { config }]) => (config ? [[name, toolsetSection(config)]] : []))
  const timeoutSeconds = Type.Number({
    exclusiveMinimum: 0,
    maximum: 86_400,
    default: 60,
    description: 'Maximum duration of a tool call, in seconds.',
  })
  return Type.Unsafe<ToolsConfig>({
    type: 'object',
    properties: {
      ...Object.fromEntries(sections),
      ...policyKeys,
      effects: effectsKey,
      trusted: trustedKey,
      narrowChats: narrowChatsKey,
      rename: renameKey,
      subagents: subagentsKey,
      timeoutSeconds,
    },
    required: ['subagents', 'timeoutSeconds', 'narrowChats'],
    additionalProperties: false,
    default: {},
    description: 'The tool policy, limits, and the settings of toolsets by their names.',
  })
}

/** An absent section counts as an empty one: it gets its defaults, and its required keys are missing. */
const toolsetSection = (config: JsonSchema) => ({ default: {}, ...config, ...objectSchema(config) })

export const defaultFirstTokenTimeout = '60s'

const providerKeys = {
  firstTokenTimeout: DurationOrZero('silence', {
    default: defaultFirstTokenTimeout,
    description:
      'How long a model may send nothing, before or within its answer, such as "90s" or "5m". After that its call ' +
      'has failed temporarily. With 0, only the time limit of the run ends the call.',
  }),
}

/** The keys of a provider's section that belong to the gateway. All others are settings of the provider. */
export const gatewayKeysOfProvider: ReadonlySet<string> = new Set(['kind', ...Object.keys(providerKeys)])

export const settingsOfProvider = (section: object = {}): Record<string, unknown> =>
  Object.fromEntries(Object.entries(section).filter(([key]) => !gatewayKeysOfProvider.has(key)))

/** Checked by the rules, so that the provider is checked as well. */
export const providerNamePattern = String.raw`^[^\s/](?:[^/]*[^\s/])?$`

/** The section `providers`. The keys of each entry depend on its `kind`. */
export function providersSection(providers: ConfigurableExtensions['providers'], document: unknown) {
  const kind = Type.Enum([...providers.keys()], { description: 'The provider of these models.' })
  const sectionOf = (settings: unknown) => {
    const provider = providers.get(String((settings as { kind?: unknown } | null)?.kind))
    const { properties, required, additionalProperties } = objectSchema(provider?.config ?? {})
    return {
      type: 'object',
      properties: { ...properties, ...providerKeys, kind },
      required: ['kind', 'firstTokenTimeout', ...required],
      additionalProperties: provider ? additionalProperties : true,
    }
  }
  const sections = Object.entries((document ?? {}) as Record<string, unknown>).map(([name, settings]) => [
    name,
    sectionOf(settings),
  ])
  return Type.Unsafe<Record<string, ProviderConfig>>({
    type: 'object',
    properties: Object.fromEntries(sections),
    additionalProperties: {
      ...sectionOf({}),
      description: 'A source of models. Its name is the left side of <provider>/<model>.',
    },
    keyNames: { pattern: providerNamePattern },
    default: {},
    description: 'Sources of models by their names.',
  })
}

interface ObjectSchema {
  type: 'object'
  properties: Record<string, Record<string, unknown>>
  required: string[]
  additionalProperties: unknown
}

/** An extension's schema as an object schema. Undeclared keys are rejected unless the schema allows them explicitly. */
function objectSchema(schema: JsonSchema): ObjectSchema {
  const { properties = {}, required = [], additionalProperties = false } = schema as Partial<ObjectSchema>
  return { type: 'object', properties, required, additionalProperties }
}
