// The fields of wake and agent actions: request bodies, mappings, transform results and dry runs derive from this list.
import { Text } from './field-schemas.ts'
import { type TSchema, Type } from './typebox.ts'

export const wakeModes = ['now', 'next-heartbeat'] as const
export type WakeMode = (typeof wakeModes)[number]

export const thinkingLevels = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'] as const
export type Thinking = (typeof thinkingLevels)[number]

/** Channels that every action may name, whether or not a plugin for them is loaded. */
export const promisedChannels = [
  'whatsapp',
  'telegram',
  'discord',
  'slack',
  'mattermost',
  'signal',
  'imessage',
  'msteams',
] as const

/** The channel that `last` means by default while the main session has no route. */
export const fallbackChannel = 'whatsapp'

/** The fields that a transform or a preset may set. They take precedence over the fields of the mapping. */
export interface ActionOverrides {
  /** What the request becomes: an event for an agent (`wake`) or a run of an agent (`agent`). */
  action?: 'wake' | 'agent'
  /** Prompt or message for the agent. */
  message?: string
  /** Description of the event that a wake posts. */
  text?: string
  /** Human-readable name of the hook, used as a prefix in session summaries. */
  name?: string
  /** Agent of the run or, for a wake, the agent that receives the event. An unknown id means the default agent. */
  agentId?: string
  /** Session of the run or, for a wake, the session that receives the event. */
  sessionKey?: string
  /** `now` triggers a heartbeat at once, or after the run; `next-heartbeat` waits for the next periodic check. */
  wakeMode?: WakeMode
  /** Whether the reply is sent to the channel. */
  deliver?: boolean
  /** Channel for the reply; `last` is the channel of the latest message to the main session. */
  channel?: string
  /** Recipient on the channel. Default: the last recipient in the main session. */
  to?: string
  /** Account of the channel that sends the reply. */
  accountId?: string
  /** Thread that receives the reply. */
  threadId?: string
  /** Model for this run: `<provider>/<model>` or an alias. */
  model?: string
  /** Thinking level for this run. */
  thinking?: Thinking
  /** Maximum duration of the run, in seconds. */
  timeoutSeconds?: number
  /** Id that the sender assigned to the request. A second request with the same id starts nothing. */
  idempotencyKey?: string
}

export type ActionField = Exclude<keyof ActionOverrides, 'idempotencyKey'>

/** The schema of each field. `channel` accepts any text here: which channels are loaded is known later. */
export const actionFields = {
  action: Type.Enum(['wake', 'agent'], {
    default: 'agent',
    description: 'What the request becomes: an event for an agent (`wake`) or a run of an agent (`agent`).',
  }),
  message: Text('Prompt or message for the agent.'),
  text: Text('Description of the event that a wake posts.'),
  name: Text('Human-readable name of the hook, used as a prefix in session summaries.'),
  agentId: Text(
    'Agent of the run or, for a wake, the agent that receives the event. An unknown id means the default agent.',
  ),
  sessionKey: Text('Session of the run or, for a wake, the session that receives the event.'),
  wakeMode: Type.Enum([...wakeModes], {
    default: 'now',
    description:
      '`now` triggers a heartbeat at once, or after the run; `next-heartbeat` waits for the next periodic check.',
  }),
  deliver: Type.Boolean({ default: true, description: 'Whether the reply is sent to the channel.' }),
  channel: Text('Channel for the reply; `last` is the channel of the latest message to the main session.', {
    default: 'last',
  }),
  to: Text('Recipient on the channel. Default: the last recipient in the main session.'),
  accountId: Text('Account of the channel that sends the reply.'),
  threadId: Text('Thread that receives the reply.'),
  model: Text('Model for this run: `<provider>/<model>` or an alias.'),
  thinking: Type.Enum([...thinkingLevels], { description: 'Thinking level for this run.' }),
  timeoutSeconds: Type.Number({
    exclusiveMinimum: 0,
    maximum: 86_400,
    description: 'Maximum duration of the run, in seconds.',
  }),
} satisfies Record<ActionField, TSchema>

/** The fields of `ActionOverrides`: those of an action, and the id of the request that it came with. */
export const overrideFields = {
  ...actionFields,
  idempotencyKey: Text('Id that the sender assigned to the request. A second request with the same id starts nothing.'),
} satisfies Record<keyof ActionOverrides, TSchema>

/** The fields that a mapping writes as templates, each with the key that holds its template. */
export const templateKeys = {
  message: 'messageTemplate',
  text: 'textTemplate',
  name: 'name',
  sessionKey: 'sessionKey',
  to: 'to',
  model: 'model',
  thinking: 'thinking',
  idempotencyKey: 'idempotencyKey',
} as const satisfies { [Field in keyof ActionOverrides]?: string }
export type TemplateField = keyof typeof templateKeys

export const isTemplateField = (field: string): field is TemplateField => Object.hasOwn(templateKeys, field)

/** The description of a field, and its default where it has one. */
export const annotationsOf = (schema: TSchema): { description?: string; default?: string | boolean } => schema
