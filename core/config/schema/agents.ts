// The config section `agents`: the defaults of all agents, and each agent by its id.
import { thinkingLevels } from '../../action.ts'
import { notBlank, type Static, Type } from '../../typebox.ts'
import { overridesOf } from './overrides.ts'
import { AgentTools } from './tool-policy.ts'

/** One entry of a list of allowed models. */
export type ModelEntry = string | { id: string; alias?: string; reasoning?: boolean }

const ModelList = Type.Array(
  Type.Unsafe<ModelEntry>({
    type: ['string', 'object'],
    pattern: notBlank,
    required: ['id'],
    additionalProperties: false,
    properties: {
      id: Type.String({ pattern: notBlank, description: 'The model, as <provider>/<model>.' }),
      alias: Type.String({ pattern: notBlank, description: 'A short name for it.' }),
      reasoning: Type.Boolean({ description: 'Whether the model can think; false sends it no thinking level.' }),
    },
  }),
  {
    description:
      'The models that may be used, each as "<provider>/<model>" or as an object with id, alias and reasoning. Not set: any.',
  },
)

const Thinking = Type.Enum([...thinkingLevels], { description: 'How long the model thinks before it answers.' })

const ActiveHours = Type.Object(
  {
    start: Type.String({ description: 'First minute, as "HH:MM".' }),
    end: Type.String({
      description: 'The minute at which they end, as "HH:MM"; "24:00" is allowed, and it may lie past midnight.',
    }),
    timezone: Type.Optional(
      Type.String({ description: 'IANA time zone, such as "Europe/Berlin". Not set: the one of the machine.' }),
    ),
  },
  { additionalProperties: false, description: 'The hours in which the heartbeat beats. Not set: always.' },
)

const Heartbeat = Type.Object(
  {
    every: Type.Unsafe<string | number>({
      type: ['string', 'number'],
      default: '30m',
      description:
        'Time between two beats, such as "90s", "30m" or "1h30m"; 0 for none but those that an event asks for.',
    }),
    activeHours: Type.Optional(ActiveHours),
    target: Type.String({
      default: 'none',
      description: 'Where what it says goes: "none", "last" (where the last message came from) or a channel.',
    }),
    to: Type.Optional(Type.String({ pattern: notBlank, description: 'The recipient on that channel.' })),
    prompt: Type.Optional(Type.String({ pattern: notBlank, description: 'What the agent is asked at each beat.' })),
    model: Type.Optional(
      Type.String({ pattern: notBlank, description: 'The model of the beats. Not set: the one of the agent.' }),
    ),
    ackMaxChars: Type.Integer({
      minimum: 0,
      default: 300,
      description:
        'A reply that acknowledges with HEARTBEAT_OK and has at most this many other characters is not delivered.',
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
        'How long a run is tried again after its model failed for a passing reason (5xx, 429, no connection), in seconds; 0: not at all.',
    }),
    initialDelaySeconds: Type.Number({
      exclusiveMinimum: 0,
      default: 5,
      description: 'Longest wait before the second attempt, in seconds; it doubles each time.',
    }),
    maxDelaySeconds: Type.Number({
      exclusiveMinimum: 0,
      default: 300,
      description: 'Longest wait between two attempts, in seconds.',
    }),
    blockSession: Type.Boolean({
      default: true,
      description: 'Whether the later runs of its session wait meanwhile; false lets them go before it.',
    }),
  },
  {
    additionalProperties: false,
    default: {},
    description: 'How runs are tried again whose model failed for a passing reason.',
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
        description: 'Folder of the files of the agent, relative to the configuration directory.',
      }),
    ),
    systemPrompt: Type.Optional(
      Type.String({ pattern: notBlank, description: 'What the agent is told about itself before anything else.' }),
    ),
    timeoutSeconds: Type.Number({
      exclusiveMinimum: 0,
      maximum: 86_400,
      default: 600,
      description: 'Longest time of one run, in seconds.',
    }),
    maxConcurrent: Type.Integer({
      minimum: 1,
      default: 4,
      description: 'How many runs go on at once, over all agents.',
    }),
    maxAttempts: Type.Integer({
      minimum: 1,
      default: 2,
      description: 'How often a run is begun when the gateway dies under it, the first time included.',
    }),
    retry: Retry,
    heartbeat: Heartbeat,
  },
  { additionalProperties: false, default: {}, description: 'What holds for every agent that does not say otherwise.' },
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
      default: Type.Boolean({ description: 'Makes this the default agent. None so marked: the first.' }),
      name: Type.String({ pattern: notBlank, description: 'The name of the agent, for people.' }),
      ...overridable,
      retry: overridesOf(Retry),
      heartbeat: overridesOf(Heartbeat),
      tools: AgentTools,
    },
    {
      additionalProperties: false,
      description: 'One agent, by its id; what it leaves out it takes from the defaults.',
    },
  ),
)

export type HeartbeatConfig = Static<typeof Heartbeat>
export type AgentDefaultsConfig = Static<typeof AgentDefaults>
export type AgentConfig = Static<typeof Agent>

/** The defaults under `defaults`; every other key is the id of an agent. */
export type AgentsConfig = { defaults: AgentDefaultsConfig } & { [id: string]: AgentConfig }

export const AgentsSection = Type.Unsafe<AgentsConfig>(
  Type.Object(
    { defaults: AgentDefaults },
    {
      additionalProperties: Agent,
      default: {},
      description: 'The agents by their ids, and under "defaults" what holds for all of them.',
    },
  ),
)
