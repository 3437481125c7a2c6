// Schemas of the hook endpoints: the bodies and headers that callers send, and the replies.
import { actionFields, annotationsOf, promisedChannels, wakeModes } from '../action.ts'
import { runStatuses } from '../store/run-spec.ts'
import { type Static, Type } from '../typebox.ts'

export const WakeBody = Type.Object({ text: actionFields.text, mode: Type.Optional(actionFields.wakeMode) })
export type WakeBody = Static<typeof WakeBody>

// An account and a thread are for the operator to choose, in a mapping; the body of a request cannot set them.
const { action: _action, text: _text, accountId: _account, threadId: _thread, message, ...optional } = actionFields

/** The body of an agent request. `channel` may name a loaded channel or one of the promised channels. */
export function createAgentBody(loadedChannels: Iterable<string>) {
  const channels = [...new Set(['last', ...promisedChannels, ...loadedChannels])]
  const { default: defaultChannel, description } = annotationsOf(optional.channel)
  const sessionKey = `${annotationsOf(optional.sessionKey).description} Rejected unless \`hooks.allowRequestSessionKey\` is true.`
  return Type.Object({
    message,
    ...Type.Partial(
      Type.Object({
        ...optional,
        sessionKey: Type.String({ ...optional.sessionKey, description: sessionKey }),
        channel: Type.Enum(channels, { default: defaultChannel, description }),
      }),
    ).properties,
  })
}
export type AgentBody = Static<ReturnType<typeof createAgentBody>>

/** Trims the names of agents, channels and models, which may have white space around them. */
export function trimNames(body: object): void {
  const fields = body as Record<string, unknown>
  for (const name of ['agentId', 'channel', 'model']) {
    const value = fields[name]
    if (typeof value === 'string') fields[name] = value.trim()
  }
}

export const WakeReply = Type.Object({
  ok: Type.Literal(true),
  mode: Type.Enum([...wakeModes]),
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

export type MappedReply = Static<typeof MappedReply>

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
