// The config section `agents`: the defaults for all agents, and each agent by its id.
import { thinkingLevels } from '../../action.ts'
import { notBlank, type Static, Type } from '../../typebox.ts'
import { overridesOf } from './overrides.ts'
import { AgentTools } from './tool-policy.ts'

/** An entry of a list of allowed models. */
export type ModelEntry = string | { id: string; alias?: string; reasoning?: boolean }

const ModelList = Type.Array(
  Type.Unsafe<ModelEntry>({
    type: ['string', 'object'],
    pattern: notBlank,
    required: ['id'],
    additionalProperties: false,
    properties: {
      id: Type.String({ pattern: notBlank, description: 'The model, as <provider>/<model>.' }),
      alias: Type.String({ pattern: notBlank, description: 'A short name for the model.' }),
      reasoning: Type.Boolean({ description: 'Whether the model can think; with false it gets no thinking level.' }),
    },
  }),
  {
    description:
      'The models that may be used, each as "<provider>/<model>" or as an object with id, alias and reasoning. ' +
      'Default: any.',
  },
)

const Thinking = Type.Enum([...thinkingLevels], { description: 'How long the model thinks before it answers.' })

const ActiveHours = Type.Object(
  {
    start: Type.String({ description: 'The start, as "HH:MM".' }),
    end: Type.String({
      description: 'The end, exclusive, as "HH:MM". "24:00" is allowed. An end before the start is on the next day.',
    }),
    timezone: Type.Optional(
      Type.String({ description: 'IANA time zone, such as "Europe/Berlin". Default: the one of the machine.' }),
    ),
  },
  { additionalProperties: false, description: 'The hours in which heartbeats run. Default: all day.' },
)

const Heartbeat = Type.Object(
  {
    every: Type.Unsafe<string | number>({
      type: ['string', 'number'],
      default: '30m',
      description: 'Interval between heartbeats, such as "90s", "30m" or "1h30m". With 0, only events start one.',
    }),
    activeHours: Type.Optional(ActiveHours),
    target: Type.String({
      default: 'none',
      description: 'Where replies go: "none", "last" (where the last message came from) or the name of a channel.',
    }),
    to: Type.Optional(Type.String({ pattern: notBlank, description: 'The recipient on that channel.' })),
    prompt: Type.Optional(Type.String({ pattern: notBlank, description: 'The prompt of each heartbeat.' })),
    model: Type.Optional(
      Type.String({ pattern: notBlank, description: 'The model for heartbeats. Default: the one of the agent.' }),
    ),
    ackMaxChars: Type.Integer({
      minimum: 0,
      default: 300,
      description: 'A reply that contains HEARTBEAT_OK and at most this many other characters is not delivered.',
    }),
  },
  { additionalProperties: false, default: {}, description: 'The periodic check of the main session.' },
)

const Retry = Type.Object(
  {
    forSeconds: Type.Number({
      minimum: 0,
      maximum: 604_800,
      default: 3600,
      description:
        'How long a run is retried after its model failed temporarily (5xx, 429, no connection, silence), in ' +
        'seconds. 0 disables retries.',
    }),
    initialDelaySeconds: Type.Number({
      exclusiveMinimum: 0,
      default: 5,
      description: 'Maximum delay before the second attempt, in seconds. It doubles with each attempt.',
    }),
    maxDelaySeconds: Type.Number({
      exclusiveMinimum: 0,
      default: 300,
      description: 'Maximum delay between two attempts, in seconds.',
    }),
    blockSession: Type.Boolean({
      default: true,
      description: 'Whether later runs of the session wait meanwhile. With false they run first.',
    }),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'How runs are retried after their model failed temporarily.',
  },
)

const AgentDefaults = Type.Object(
  {
    model: Type.String({
      pattern: notBlank,
      default: 'builtin/rules',
      description: 'The model, as <provider>/<model> or an alias.',
    }),
    models: Type.Optional(ModelList),
    thinking: Type.Optional(Thinking),
    workspace: Type.Optional(
      Type.String({
        pattern: notBlank,
        description: "Folder of the agent's files, relative to the configuration directory.",
      }),
    ),
    systemPrompt: Type.Optional(
      Type.String({ pattern: notBlank, description: 'Instructions for the agent, at the start of the prompt.' }),
    ),
    timeoutSeconds: Type.Number({
      exclusiveMinimum: 0,
      maximum: 86_400,
      default: 600,
      description: 'Maximum duration of a run, in seconds.',
    }),
    maxConcurrent: Type.Integer({
      minimum: 1,
      default: 4,
      description: 'Maximum number of runs at the same time, over all agents.',
    }),
    maxAttempts: Type.Integer({
      minimum: 1,
      default: 2,
      description: 'How often a run is started in total if the gateway dies during it.',
    }),
    retry: Retry,
    heartbeat: Heartbeat,
  },
  { additionalProperties: false, default: {}, description: 'The defaults for all agents.' },
)

const {
  maxConcurrent: _cap,
  maxAttempts: _attempts,
  retry: _retry,
  heartbeat: _heartbeat,
  ...overridable
} = AgentDefaults.properties

const Agent = overridesOf(
  Type.Object(
    {
      default: Type.Boolean({
        description: 'Makes this the default agent. If no agent sets it, the first one is the default.',
      }),
      name: Type.String({ pattern: notBlank, description: 'The name of the agent, for people.' }),
      ...overridable,
      retry: overridesOf(Retry),
      heartbeat: overridesOf(Heartbeat),
      tools: AgentTools,
    },
    {
      additionalProperties: false,
      description: 'One agent, by its id. Missing keys are taken from the defaults.',
    },
  ),
)

export type HeartbeatConfig = Static<typeof Heartbeat>
export type AgentDefaultsConfig = Static<typeof AgentDefaults>
export type AgentConfig = Static<typeof Agent>

/** `defaults`, and the agents by their ids. */
export type AgentsConfig = { defaults: AgentDefaultsConfig } & { [id: string]: AgentConfig }

export const AgentsSection = Type.Unsafe<AgentsConfig>(
  Type.Object(
    { defaults: AgentDefaults },
    {
      additionalProperties: Agent,
      default: {},
      description: 'The agents by their ids, and "defaults" for all of them.',
    },
  ),
)

/** If no agent is configured, there is one called `main`. */
export function agentIdsOf(agents: AgentsConfig): string[] {
  const ids = Object.keys(agents).filter((id) => id !== 'defaults')
  return ids.length > 0 ? ids : ['main']
}

/** The agent with `default: true`, else the first. */
export function defaultAgentId(agents: AgentsConfig): string {
  const ids = agentIdsOf(agents)
  return ids.find((id) => agents[id]?.default) ?? (ids[0] as string)
}
