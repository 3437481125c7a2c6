// The config section `agents`: the defaults for all agents, and each agent by its id.
import { thinkingLevels } from '../../action.ts'
import { Count, OptionalText, Text } from '../../field-schemas.ts'
import { notBlank, type Static, Type } from '../../typebox.ts'
import { budgetKey } from './budget.ts'
import { AgentApprovals } from './approvals.ts'
import { DurationOrZero, EndTime, StartTime, TimeZone } from './formats.ts'
import { overridesOf } from './overrides.ts'
import { AgentTools } from './tool-policy.ts'

const price = (description: string) => Type.Number({ minimum: 0, maximum: 100_000, description })

const Price = Type.Object(
  {
    input: price('Input tokens.'),
    output: price('Output tokens, with reasoning.'),
    cachedInput: Type.Optional(price('Input tokens that are read from a cache. Default: the price of `input`.')),
    cacheWrite: Type.Optional(price('Input tokens that are written to a cache. Default: the price of `input`.')),
    reasoning: Type.Optional(price('Reasoning tokens. Default: the price of `output`.')),
  },
  {
    additionalProperties: false,
    description: 'What a million tokens cost, in US dollars. Default: the price of the price table.',
  },
)

export type ModelPrice = Static<typeof Price>

/** An entry of a list of allowed models. */
export type ModelEntry = string | { id: string; alias?: string; reasoning?: boolean; price?: ModelPrice }

const ModelList = Type.Array(
  Type.Unsafe<ModelEntry>({
    type: ['string', 'object'],
    pattern: notBlank,
    required: ['id'],
    additionalProperties: false,
    properties: {
      id: Text('The model, as <provider>/<model>.'),
      alias: Text('A short name for the model.'),
      reasoning: Type.Boolean({ description: 'Whether the model can think; with false it gets no thinking level.' }),
      price: Price,
    },
  }),
  {
    description:
      'The models that may be used, each as "<provider>/<model>" or as an object with id, alias, reasoning and ' +
      'price. ' +
      'Default: any.',
  },
)

const Thinking = Type.Enum([...thinkingLevels], { description: 'How long the model thinks before it answers.' })

const ActiveHours = Type.Object(
  {
    start: StartTime('The start, as "HH:MM".'),
    end: EndTime('The end, exclusive, as "HH:MM". "24:00" is allowed. An end before the start is on the next day.'),
    timezone: Type.Optional(TimeZone('IANA time zone, such as "Europe/Berlin". Default: the one of the machine.')),
  },
  { additionalProperties: false, description: 'The hours in which heartbeats run. Default: all day.' },
)

const Heartbeat = Type.Object(
  {
    every: DurationOrZero('interval', {
      default: '30m',
      description: 'Interval between heartbeats, such as "90s", "30m" or "1h30m". With 0, only events start one.',
    }),
    activeHours: Type.Optional(ActiveHours),
    target: Type.String({
      default: 'none',
      description: 'Where replies go: "none", "last" (where the last message came from) or the name of a channel.',
    }),
    to: OptionalText('The recipient on that channel.'),
    prompt: OptionalText('The prompt of each heartbeat.'),
    model: OptionalText('The model for heartbeats. Default: the one of the agent.'),
    ackMaxChars: Count(
      'A reply of a heartbeat that begins or ends with HEARTBEAT_OK and has at most this many other characters is not delivered.',
      {
        default: 300,
      },
    ),
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

const PerRun = (description: string) => Type.Integer({ minimum: 0, maximum: 1000, default: 20, description })

const AgentDefaults = Type.Object(
  {
    model: Text('The model, as <provider>/<model> or an alias.', { default: 'builtin/rules' }),
    models: Type.Optional(ModelList),
    thinking: Type.Optional(Thinking),
    workspace: OptionalText("Folder of the agent's files, relative to the configuration directory."),
    systemPrompt: OptionalText('Instructions for the agent, at the start of the prompt.'),
    timeoutSeconds: Type.Number({
      exclusiveMinimum: 0,
      maximum: 86_400,
      default: 600,
      description: 'Maximum duration of each attempt at a run, in seconds.',
    }),
    maxSteps: Type.Integer({
      minimum: 1,
      maximum: 200,
      default: 16,
      description: 'Maximum number of calls of the model in a run. The last call gets no tools, and must answer.',
    }),
    maxMessages: PerRun('Maximum number of messages that the tools of a run and of its subagents send.'),
    maxApprovals: PerRun('Maximum number of approvals that a run and its subagents ask for.'),
    maxStartedRuns: PerRun('Maximum number of runs that the tools of a run and of its subagents start.'),
    maxOutputTokens: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'Maximum number of tokens that a call of the model may write. Default: as many as the model can.',
      }),
    ),
    historyTurns: Type.Optional(
      Count('How many earlier turns of a session the model sees. Default: `session.historyTurns`.'),
    ),
    historyTokens: Type.Optional(
      Count('How many tokens, estimated, these may take. Default: `session.historyTokens`.'),
    ),
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
    budget: budgetKey('each agent without a budget of its own'),
  },
  { additionalProperties: false, default: {}, description: 'The defaults for all agents.' },
)

const {
  maxConcurrent: _cap,
  maxAttempts: _attempts,
  retry: _retry,
  heartbeat: _heartbeat,
  budget: _budget,
  ...overridable
} = AgentDefaults.properties

const Agent = overridesOf(
  Type.Object(
    {
      default: Type.Boolean({
        description: 'Makes this the default agent. If no agent sets it, it is the first one.',
      }),
      name: Text('The name of the agent, for people.'),
      ...overridable,
      retry: overridesOf(Retry),
      heartbeat: overridesOf(Heartbeat),
      budget: budgetKey('the agent'),
      tools: AgentTools,
      approvals: AgentApprovals,
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

/** Checked by the rules, so that the agent is checked as well. */
export const agentIdPattern = '^[a-z0-9][a-z0-9_-]{0,63}$'

export const AgentsSection = Type.Unsafe<AgentsConfig>(
  Type.Object(
    { defaults: AgentDefaults },
    {
      additionalProperties: Agent,
      keyNames: { pattern: agentIdPattern },
      default: {},
      description: 'The agents by their ids, and "defaults" for all of them.',
    },
  ),
)

/** If no agent is configured, there is one called `main`. */
export function agentIdsOf(agents: Readonly<Record<string, unknown>>): string[] {
  const ids = Object.keys(agents).filter((id) => id !== 'defaults')
  return ids.length > 0 ? ids : ['main']
}

/** The agent with `default: true`, else the first. */
export function defaultAgentId(agents: AgentsConfig): string {
  const ids = agentIdsOf(agents)
  return ids.find((id) => agents[id]?.default) ?? (ids[0] as string)
}
