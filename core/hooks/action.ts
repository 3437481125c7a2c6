// The two actions that every hook becomes, as schemas of what a caller may send and what it is answered.
import { promisedChannels } from '../config/schema/mappings.ts'
import { notBlank, type Static, Type } from '../typebox.ts'
import { runStatuses, thinkingLevels } from '../store/run-spec.ts'

const Text = (description: string) => Type.String({ pattern: notBlank, description })

const WakeMode = (description: string) => Type.Enum(['now', 'next-heartbeat'], { default: 'now', description })

export const WakeBody = Type.Object({
  text: Text('Description of the event.'),
  mode: Type.Optional(
    WakeMode('`now` triggers an immediate heartbeat; `next-heartbeat` waits for the next periodic check.'),
  ),
})
export type WakeBody = Static<typeof WakeBody>

/** The agent payload; its channels are those of the loaded plugins and the promised ones. */
export function createAgentBody(loadedChannels: Iterable<string>) {
  const channels = [...new Set(['last', ...promisedChannels, ...loadedChannels])]
  return Type.Object({
    message: Text('Prompt or message for the agent.'),
    name: Type.Optional(Text('Human-readable name of the hook, used as a prefix in session summaries.')),
    agentId: Type.Optional(Text('Agent that runs it; an unknown id means the default agent.')),
    sessionKey: Type.Optional(Text("Key of the agent's session; refused unless hooks.allowRequestSessionKey is true.")),
    wakeMode: Type.Optional(
      WakeMode('`now` triggers a heartbeat right after the run; `next-heartbeat` waits for the next periodic check.'),
    ),
    deliver: Type.Optional(Type.Boolean({ default: true, description: 'Whether the reply is sent to the channel.' })),
    channel: Type.Optional(
      Type.Enum(channels, {
        default: 'last',
        description: 'Channel for the reply; `last` is where the main session last heard from.',
      }),
    ),
    to: Type.Optional(Text('Recipient on the channel; absent: the last recipient in the main session.')),
    model: Type.Optional(Text('Model for this run: `<provider>/<model>` or an alias.')),
    thinking: Type.Optional(Type.Enum([...thinkingLevels], { description: 'Thinking level for this run.' })),
    timeoutSeconds: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: 'Longest duration of the run, in seconds.' }),
    ),
  })
}
export type AgentBody = Static<ReturnType<typeof createAgentBody>>

/** Names of agents, channels and models mean the same with blanks around them. */
export function trimNames(body: object): void {
  const fields = body as Record<string, unknown>
  for (const name of ['agentId', 'channel', 'model']) {
    const value = fields[name]
    if (typeof value === 'string') fields[name] = value.trim()
  }
}

/** Without the fields that say nothing. A loop, since every mapped request goes through it several times. */
export function defined<Values extends object>(values: Values): Partial<Values> {
  const given: Partial<Values> = {}
  for (const key in values) if (values[key] !== undefined && key !== '__proto__') given[key] = values[key]
  return given
}

export const WakeReply = Type.Object({
  ok: Type.Literal(true),
  mode: Type.Enum(['now', 'next-heartbeat']),
  eventId: Type.String(),
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: 'What is not done as asked: that another agent is woken.' }),
  ),
})
export type WakeReply = Static<typeof WakeReply>

const RunError = Type.Object(
  { type: Type.String(), message: Type.String() },
  {
    description:
      'With `Prefer: wait`: why there is no reply, or why the last attempt failed of a run that is tried again.',
  },
)

export const AgentReply = Type.Object({
  ok: Type.Literal(true),
  runId: Type.String({ description: 'For `GET /runs/{id}`.' }),
  sessionKey: Type.String({ description: 'The whole key of the session that it runs in.' }),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description: 'What is not done as asked: why the reply cannot be delivered, or that another agent runs it.',
    }),
  ),
  status: Type.Optional(Type.Enum([...runStatuses], { description: 'With `Prefer: wait`: how far the run came.' })),
  reply: Type.Optional(Type.String({ description: 'With `Prefer: wait`: what the agent answered.' })),
  error: Type.Optional(RunError),
})
export type AgentReply = Static<typeof AgentReply>

const Ids = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))

/** What a hook of one's own name is answered: as its action is, or `skipped`, or the ids of several actions. */
export const MappedReply = Type.Object({
  ok: Type.Literal(true),
  skipped: Type.Optional(Type.Literal(true, { description: 'Nothing was to be done.' })),
  mode: Type.Optional(WakeReply.properties.mode),
  eventId: Type.Optional(Type.String()),
  ...Type.Partial(Type.Omit(AgentReply, ['ok'])).properties,
  runIds: Ids('Of several actions: the runs.'),
  eventIds: Ids('Of several actions: the events.'),
  runs: Type.Optional(
    Type.Array(
      Type.Object({
        runId: Type.String(),
        status: Type.Enum([...runStatuses]),
        reply: Type.Optional(Type.String()),
        error: Type.Optional(RunError),
      }),
      {
        description: 'With `Prefer: wait`, of several actions: how far the runs came.',
      },
    ),
  ),
})

/** Headers that both endpoints know; what is wrong with them is told by whoever reads them. */
export const IdempotencyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'The same key and body again get the first reply again, for 24 hours.',
    }),
  ),
})
export const AgentHeaders = Type.Object({
  ...IdempotencyHeader.properties,
  prefer: Type.Optional(
    Type.String({ description: '`wait=N` holds the reply until the run has ended, at most N seconds (300).' }),
  ),
})
