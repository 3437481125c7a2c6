// The keys of the tool policy, for `tools`, agents, groups of channels and `gateway`.
import { notBlank, type Static, type TSchema, Type } from '../../typebox.ts'

const Names = (description: string) => Type.Array(Type.String({ pattern: notBlank }), { description })

/** An object whose keys the user chooses. */
const ById = <Schema extends TSchema>(entry: Schema, description: string) =>
  Type.Unsafe<Record<string, Static<Schema>>>({ type: 'object', additionalProperties: entry, description })

const listKeys = {
  allow: Type.Optional(
    Names(
      'The tools that may be used: names, names with "*", "group:<name>", or the name of a toolset. Default: ' +
        'all. An empty list: none.',
    ),
  ),
  deny: Type.Optional(Names('The tools that may not be used, in the same syntax. It takes precedence over "allow".')),
}

const Lists = (description: string) => Type.Object(listKeys, { additionalProperties: false, description })

const scopeKeys = {
  profile: Type.Optional(
    Type.Enum(['minimal', 'coding', 'messaging', 'full'], {
      description: 'A predefined list of allowed tools.',
    }),
  ),
  alsoAllow: Type.Optional(Names('Tools in addition to those of the profile. It cannot be combined with "allow".')),
  ...listKeys,
}

const Scope = Type.Object(scopeKeys, {
  additionalProperties: false,
  description: 'A provider, or a model as <provider>/<model>, which takes precedence.',
})

const ByOrigin = Type.Object(
  {
    hook: Type.Optional(
      Lists(
        'Runs that a webhook started. Without "allow": all except exec, gateway, cron, write, edit, ' +
          'sessions_list and sessions_history, under the rule of two. With it: only what it lists, without that rule.',
      ),
    ),
  },
  { additionalProperties: false, description: 'More lists for runs with a certain origin.' },
)

/** The policy keys that `tools` and `agents.<id>.tools` share. */
export const policyKeys = {
  ...scopeKeys,
  byProvider: Type.Optional(ById(Scope, 'More lists while a certain provider or model is used.')),
  byOrigin: Type.Optional(ByOrigin),
}

/** The effects of tools, as the operator declares them. */
export const effectsKey = Type.Optional(
  ById(
    Type.Array(Type.Enum(['reads-private', 'sends']), {
      description: 'The effects of these tools: "reads-private", "sends", both, or none.',
    }),
    'The effects of tools for the rule of two, by name. They replace the effects that the tools declare.',
  ),
)

/** The policy key that only `tools` has. */
export const subagentsKey = Type.Object(
  {
    tools: Type.Optional(
      Lists(
        'The tools of subagents. Without "allow": all except gateway, cron, group:channels and group:sessions. ' +
          'With it: only what it lists.',
      ),
    ),
    maxDepth: Type.Integer({
      minimum: 0,
      maximum: 5,
      default: 1,
      description: 'How deep subagents may start subagents; 0 disables subagents.',
    }),
    maxActive: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 8,
      description: 'Maximum number of active runs that the tools of one session have started.',
    }),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'Limits and tools of subagents.',
  },
)

export const AgentTools = Type.Object(policyKeys, {
  additionalProperties: false,
  description: 'The tools of this agent, of those that "tools" allows.',
})

export const HttpTools = Type.Object(
  {
    allow: Type.Optional(
      Names(
        'Tools that may be called over HTTP although they are restricted: sessions_spawn, sessions_send, ' +
          'gateway, whatsapp_login, group:channels. Exact names only.',
      ),
    ),
    deny: Type.Optional(Names('More tools that may not be called over HTTP. Exact names only.')),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'The tools that may be called over HTTP, of those that the policy allows.',
  },
)

/** The key `groups` of a channel, and of an account. */
export const ChannelGroups = Type.Optional(
  ById(
    Type.Object(
      {
        allow: Type.Optional(
          Type.Boolean({ description: 'Whether the agent reads this group. false closes it. Default: true.' }),
        ),
        requireMention: Type.Optional(
          Type.Boolean({
            description: 'Whether the agent reads only messages that mention it or reply to it. Default: true.',
          }),
        ),
        agentId: Type.Optional(
          Type.String({
            pattern: notBlank,
            description: 'The agent that answers in this group. Default: that of the account.',
          }),
        ),
        tools: Type.Optional(Lists('The tools in this group.')),
      },
      {
        additionalProperties: false,
        description: 'A group or channel by its id on the platform; "*" for all that are not listed.',
      },
    ),
    'Settings for groups and channels of the platform. A group that is neither listed nor covered by "*" is closed. ' +
      'Default: all groups are open to the senders in allowFrom.',
  ),
)

const AnyLists = Lists('Two lists.')

/** An absent list restricts nothing. */
export type ToolLists = Static<typeof AnyLists>
export type ToolScope = Static<typeof Scope>
/** A section with all keys of the policy. */
export type ToolPolicyConfig = Static<typeof AgentTools>
export type EffectsConfig = Static<typeof effectsKey>
export type SubagentsConfig = Static<typeof subagentsKey>
export type ChannelGroupsConfig = Static<typeof ChannelGroups>
