// The keys of the tool policy, for `tools`, agents, groups of channels and `gateway`.
import { OptionalFlag, OptionalText, Texts } from '../../field-schemas.ts'
import { type Static, type TSchema, Type } from '../../typebox.ts'

/** An object whose keys the user chooses. */
const ById = <Schema extends TSchema>(entry: Schema, description: string) =>
  Type.Unsafe<Record<string, Static<Schema>>>({ type: 'object', additionalProperties: entry, description })

const listKeys = {
  allow: Type.Optional(
    Texts(
      'The tools that may be used: names, names with "*", "group:<name>", or the name of a toolset. Default: ' +
        'all. An empty list: none.',
    ),
  ),
  ask: Type.Optional(
    Texts(
      'The tools of which a person must approve each call (see "approvals"), in the same syntax. They need not be in ' +
        '"allow".',
    ),
  ),
  deny: Type.Optional(
    Texts('The tools that may not be used, in the same syntax. It takes precedence over "ask" and "allow".'),
  ),
}

const Lists = (description: string) => Type.Object(listKeys, { additionalProperties: false, description })

const scopeKeys = {
  profile: Type.Optional(
    Type.Enum(['minimal', 'coding', 'messaging', 'full'], {
      description: 'A predefined list of allowed tools.',
    }),
  ),
  alsoAllow: Type.Optional(Texts('Tools in addition to those of the profile. It cannot be combined with "allow".')),
  ...listKeys,
}

const Scope = Type.Object(scopeKeys, {
  additionalProperties: false,
  description: 'A provider, or a model as <provider>/<model>, which takes precedence.',
})

const hookLists =
  'Runs that a webhook started. Without "allow": all except exec, gateway, cron, write, edit, ' +
  'sessions_list and sessions_history, under the rule of two. With it: only what it lists, without that ' +
  'rule. What "ask" lists is permitted, without that rule, once a person has approved the call.'

/** @param beyond the default of `beyondRuleOfTwo` in words, and its value where it is shown */
const ByOrigin = (beyond: { text: string; fallback?: string }) => {
  const { text, ...shown } = beyond
  const beyondRuleOfTwo = Type.Enum(['deny', 'ask'], {
    ...shown,
    description:
      'What happens to a call that the rule of two does not permit. "deny": it is withheld. "ask": a person may ' +
      `approve it. Default: ${text}.`,
  })
  const hook = Type.Object(
    { ...listKeys, beyondRuleOfTwo: Type.Optional(beyondRuleOfTwo) },
    { additionalProperties: false, description: hookLists },
  )
  return Type.Object(
    { hook: Type.Optional(hook) },
    { additionalProperties: false, description: 'More lists for runs with a certain origin.' },
  )
}

const sharedKeys = {
  ...scopeKeys,
  byProvider: Type.Optional(ById(Scope, 'More lists while a certain provider or model is used.')),
}

/** The keys of the policy in `tools`. */
export const policyKeys = {
  ...sharedKeys,
  byOrigin: Type.Optional(ByOrigin({ text: '"deny"', fallback: 'deny' })),
}

/** The keys of the policy in `agents.<id>.tools`. */
const agentPolicyKeys = { ...sharedKeys, byOrigin: Type.Optional(ByOrigin({ text: 'that of `tools`' })) }

/** The effects of tools, as the operator declares them. */
export const effectsKey = Type.Optional(
  ById(
    Type.Array(Type.Enum(['reads-private', 'sends']), {
      description: 'The effects of these tools: "reads-private", "sends", both, or none.',
    }),
    'The effects of tools for the rule of two, by name. They replace the effects that the tools declare.',
  ),
)

/** Tools whose texts do not restrict the turns that read them. */
export const trustedKey = Type.Optional(
  Texts(
    'Tools whose results and descriptions are trusted, by name, group or toolset, with "*": a turn that reads them is ' +
      'not restricted as one that reads text from outside.',
  ),
)

export const narrowChatsKey = Type.Boolean({
  default: true,
  description:
    'False: a turn that a person starts keeps the tools of that person, whoever wrote the texts that it sees. The rule ' +
    'of two still applies to it.',
})

/** Other names for tools. */
export const renameKey = Type.Optional(
  ById(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      properties: {
        '*': {
          type: 'string',
          pattern: String.raw`^(?:[a-z][a-z0-9_]*)?\*[a-z0-9_]*$`,
          description: 'The new name of all other tools of the toolset; "*" stands for the old one, as in "shop_*".',
        },
      },
      additionalProperties: {
        type: 'string',
        pattern: '^[a-z][a-z0-9_]{0,63}$',
        description: 'The new name of this tool: snake_case, at most 64 characters.',
      },
      description: 'The new names of the tools of this toolset, by their names.',
    }),
    'Other names for tools, by toolset. Agents, clients and the policy know only the new ones.',
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

export const AgentTools = Type.Object(agentPolicyKeys, {
  additionalProperties: false,
  description: 'The tools of this agent, of those that "tools" allows.',
})

export const ClientTools = Lists(
  'The tools that this client may use, and that its chats may use, of those that the policy allows.',
)

/** A pattern or a group would match nothing here, and restrict nothing. */
const ExactNames = (description: string) =>
  Type.Array(
    Type.String({
      pattern: String.raw`^\s*(?![gG][rR][oO][uU][pP]:)[^*\s][^*]*$`,
      errorMessage:
        'must be the exact name of a tool; patterns and groups work in "tools" and in the tools of a client',
    }),
    { description },
  )

export const HttpTools = Type.Object(
  {
    allow: Type.Optional(
      ExactNames(
        'Tools that may be called over HTTP although they are restricted: sessions_spawn, sessions_send, ' +
          'gateway, and the login tools of channels, such as whatsapp_login. Exact names only.',
      ),
    ),
    ask: Type.Optional(
      ExactNames(
        'Tools of which a person must approve each call over HTTP. Exact names only. It takes precedence over "allow".',
      ),
    ),
    deny: Type.Optional(ExactNames('More tools that may not be called over HTTP. Exact names only.')),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'The tools that may be called over HTTP, of those that the policy allows.',
  },
)

/** The key `groups` of a channel, and of an account. */
export const ChannelGroups = (description: string) => ById(ChannelGroup, description)

const ChannelGroup = Type.Object(
  {
    allow: OptionalFlag('Whether the agent reads this group. false closes it. Default: true.', { fallback: true }),
    requireMention: OptionalFlag(
      'Whether the agent reads only messages that mention it or reply to it. Default: true.',
      {
        fallback: true,
      },
    ),
    agentId: OptionalText('The agent that answers in this group. Default: that of the account.'),
    tools: Type.Optional(Lists('The tools in this group.')),
  },
  {
    additionalProperties: false,
    description: 'A group or channel by its id on the platform; "*" for all that are not listed.',
  },
)

/** An absent list restricts nothing. */
export type ToolLists = Static<ReturnType<typeof Lists>>
export type ToolScope = Static<typeof Scope>
/** A section with all keys of the policy. */
export type ToolPolicyConfig = Static<typeof AgentTools>
export type EffectsConfig = Static<typeof effectsKey>
export type RenameConfig = Static<typeof renameKey>
export type SubagentsConfig = Static<typeof subagentsKey>
export type ChannelGroupsConfig = Static<ReturnType<typeof ChannelGroups>>
