// Schemas of the hook endpoints: the bodies and headers that callers send, and the replies.
import { actionFields, annotationsOf, promisedChannels, wakeModes } from '../action.ts'
import { listChannelNames } from '../config/channels/names.ts'
import type { Channel } from '../plugin/plugin.ts'
import { runStatuses } from '../store/run-spec.ts'
import { type Static, Type } from '../typebox.ts'

export const WakeBody = Type.Object({ text: actionFields.text, mode: Type.Optional(actionFields.wakeMode) })
export type WakeBody = Static<typeof WakeBody>

// An account and a thread are for the operator to choose, in a mapping; the body of a request cannot set them.
const { action: _action, text: _text, accountId: _account, threadId: _thread, message, ...optional } = actionFields

/** The body of an agent request. `channel` may be the name or alias of a loaded channel, or a promised channel. */
export function createAgentBody(loaded: ReadonlyMap<string, Pick<Channel, 'target' | 'aliases'>>) {
  const channels = [...new Set(['last', ...promisedChannels, ...listChannelNames(loaded)])]
  const { default: defaultChannel, description } = annotationsOf(optional.channel)
  const rejection = 'Rejected unless `hooks.allowRequestSessionKey` is true.'
  const sessionKey = `${annotationsOf(optional.sessionKey).description} ${rejection}`
  return Type.Object({
    message,
    ...Type.Partial(
      Type.Object({
        ...optional,
        sessionKey: Type.String({ ...optional.sessionKey, description: sessionKey }),
        channel: Type.Enum(channels, { default: defaultChannel, description }),
        to: Type.String({
          ...optional.to,
          description: annotationsOf(optional.to).description + describeTargets(loaded),
        }),
      }),
    ).properties,
  })
}
/** What a recipient looks like on each channel whose `target` schema describes it. */
const describeTargets = (channels: ReadonlyMap<string, Pick<Channel, 'target'>>): string =>
  Array.from(channels, ([name, { target }]) =>
    'description' in target ? ` ${name}: ${String(target.description)}` : '',
  ).join('')

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
    Type.Array(Type.String(), { description: 'What differs from the request: the default agent is woken instead.' }),
  ),
})
export type WakeReply = Static<typeof WakeReply>

const RunError = Type.Object(
  { type: Type.String(), message: Type.String() },
  {
    description: 'With `Prefer: wait`: why there is no reply, or why the last attempt of a retried run failed.',
  },
)

export const AgentReply = Type.Object({
  ok: Type.Literal(true),
  runId: Type.String({ description: 'Id of the run, for `GET /runs/{id}`.' }),
  sessionKey: Type.String({ description: 'The whole key of the session of the run.' }),
  warnings: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'What differs from the request: the reply cannot be delivered, or the default agent is used instead.',
    }),
  ),
  status: Type.Optional(Type.Enum([...runStatuses], { description: 'With `Prefer: wait`: the status of the run.' })),
  reply: Type.Optional(Type.String({ description: 'With `Prefer: wait`: the reply of the agent.' })),
  error: Type.Optional(RunError),
})
export type AgentReply = Static<typeof AgentReply>

const Ids = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))

/** The reply of a mapped hook: that of its action, or `skipped`, or the ids of several actions. */
export const MappedReply = Type.Object({
  ok: Type.Literal(true),
  skipped: Type.Optional(Type.Literal(true, { description: 'The mapping skipped the request.' })),
  mode: Type.Optional(WakeReply.properties.mode),
  eventId: Type.Optional(Type.String()),
  ...Type.Partial(Type.Omit(AgentReply, ['ok'])).properties,
  runIds: Ids('For several actions: the ids of the runs.'),
  eventIds: Ids('For several actions: the ids of the events.'),
  runs: Type.Optional(
    Type.Array(
      Type.Object({
        runId: Type.String(),
        status: Type.Enum([...runStatuses]),
        reply: Type.Optional(Type.String()),
        error: Type.Optional(RunError),
      }),
      {
        description: 'With `Prefer: wait`, for several actions: the status of each run.',
      },
    ),
  ),
})

export type MappedReply = Static<typeof MappedReply>

/** For the OpenAPI document; the code that reads these headers checks them. */
export const IdempotencyHeader = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      maxLength: 256,
      description: 'For 24 hours, a second request with the same key and body gets the first reply again.',
    }),
  ),
})
export const AgentHeaders = Type.Object({
  ...IdempotencyHeader.properties,
  prefer: Type.Optional(
    Type.String({ description: '`wait=N` holds the reply until the run ends, for at most N seconds (maximum 300).' }),
  ),
})
