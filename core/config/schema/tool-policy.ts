// The tool policy's keys, wherever they stand: in `tools`, in an agent, in a group of a channel, in `gateway`.
import { notBlank, type Static, type TSchema, Type } from '../../typebox.ts'

const Names = (description: string) => Type.Array(Type.String({ pattern: notBlank }), { description })

/** An object whose keys are the user's. */
const ById = <Schema extends TSchema>(entry: Schema, description: string) =>
  Type.Unsafe<Record<string, Static<Schema>>>({ type: 'object', additionalProperties: entry, description })

const listKeys = {
  allow: Type.Optional(
    Names(
      'The tools that may be used: names, names with "*", "group:<name>", or the name of a toolset. Not set: all. An empty list: none.',
    ),
  ),
  deny: Type.Optional(
    Names('The tools that may not be used, written in the same way. What is denied stays denied, whatever allows it.'),
  ),
}

const Lists = (description: string) => Type.Object(listKeys, { additionalProperties: false, description })

const scopeKeys = {
  profile: Type.Optional(
    Type.Enum(['minimal', 'coding', 'messaging', 'full'], {
      description: 'A ready-made list of allowed tools to begin with.',
    }),
  ),
  alsoAllow: Type.Optional(
    Names('Tools that are allowed beside those of the profile. It cannot stand beside "allow".'),
  ),
  ...listKeys,
}

const Scope = Type.Object(scopeKeys, {
  additionalProperties: false,
  description: 'One provider, or one model as <provider>/<model>, which goes before its provider.',
})

const ByOrigin = Type.Object(
  {
    hook: Type.Optional(
      Lists(
        'Runs that a webhook started. Without "allow": all but exec, gateway, cron, write, edit, sessions_list and sessions_history, under the rule of two. With it: what it lists, without that rule.',
      ),
    ),
  },
  { additionalProperties: false, description: 'What holds in addition for runs that came from a certain side.' },
)

/** The policy keys that `tools` and `agents.<id>.tools` share. */
export const policyKeys = {
  ...scopeKeys,
  byProvider: Type.Optional(ById(Scope, 'What holds in addition while a certain provider or model is used.')),
  byOrigin: Type.Optional(ByOrigin),
}

/** What tools do, in the operator's words. */
export const effectsKey = Type.Optional(
  ById(
    Type.Array(Type.Enum(['reads-private', 'sends']), {
      description: 'What these tools do: "reads-private", "sends", both, or nothing of it.',
    }),
    'What tools do that matters for the rule of two, by their names, in place of what they say of themselves.',
  ),
)

/** The policy key that `tools` alone has. */
export const subagentsKey = Type.Object(
  {
    tools: Type.Optional(
      Lists(
        'Sessions of subagents. Without "allow": all but gateway, cron, whatsapp_login and group:sessions. With it: what it lists, those included.',
      ),
    ),
    maxDepth: Type.Integer({
      minimum: 0,
      maximum: 5,
      default: 1,
      description: 'How deep subagents may start subagents; 0: there are none.',
    }),
    maxActive: Type.Integer({
      minimum: 1,
      maximum: 1000,
      default: 8,
      description: 'How many runs that its tools have started one session may have under way.',
    }),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'Subagents: how many, how deep, and what holds for their tools in addition.',
  },
)

export const AgentTools = Type.Object(policyKeys, {
  additionalProperties: false,
  description: 'The tools of this agent, narrowed beyond what "tools" says.',
})

export const HttpTools = Type.Object(
  {
    allow: Type.Optional(
      Names(
        'Those of sessions_spawn, sessions_send, gateway and whatsapp_login that may be called over HTTP after all. Exact names only.',
      ),
    ),
    deny: Type.Optional(Names('Further tools that may not be called over HTTP. Exact names only.')),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'Which tools can be called over HTTP, beside what the policy says.',
  },
)

/** The key `groups` of a channel, and of an account. */
export const ChannelGroups = Type.Optional(
  ById(
    Type.Object(
      { tools: Type.Optional(Lists('The tools in this group.')) },
      {
        additionalProperties: false,
        description: 'One group or channel by its id on the platform; "*" for those that are not named.',
      },
    ),
    'What holds in groups and channels of the platform.',
  ),
)

const AnyLists = Lists('Two lists.')

/** Two lists; an absent one restricts nothing. */
export type ToolLists = Static<typeof AnyLists>
export type ToolScope = Static<typeof Scope>
/** A place in the configuration that holds a whole policy. */
export type ToolPolicyConfig = Static<typeof AgentTools>
export type EffectsConfig = Static<typeof effectsKey>
export type SubagentsConfig = Static<typeof subagentsKey>
export type ChannelGroupsConfig = Static<typeof ChannelGroups>
