// What a replay is answered, and a dry run: the match, the proof, and what the model would read.
import { thinkingLevels } from '../store/run-spec.ts'
import { Type } from '../typebox.ts'

/** How the sender of a request proved who it is. */
export const Authentication = Type.Object(
  {
    scheme: Type.String({ description: '`hook-token`, or the scheme of the `auth` of its mapping.' }),
    secret: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Which of the secrets of the mapping it used, by its place, from 0.' }),
    ),
  },
  { description: 'How the sender proved who it is; absent: an operator had it repeated.' },
)

const optional = (description: string) => Type.Optional(Type.String({ description }))

const Recipient = Type.Object(
  {
    channel: Type.String(),
    accountId: optional('The account of the channel.'),
    to: Type.String(),
    threadId: optional('The thread.'),
    reason: optional('Why the reply has nowhere to go.'),
  },
  { description: 'Where the reply would go as things stand; absent: nowhere, as was asked for.' },
)

const turn = {
  prompt: Type.String({
    description:
      'The user message of the turn, whole. The markers of its external content wrapper are other ones each time.',
  }),
  model: Type.String({ description: '`<provider>/<model>`.' }),
  thinking: Type.Optional(Type.Enum([...thinkingLevels])),
  timeoutSeconds: Type.Number(),
  tools: Type.Array(Type.String(), { description: 'What the tool policy leaves it, by name.' }),
  withheld: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Tools that the rule of two would refuse at the beginning of the turn; absent: the rule does not hold.',
    }),
  ),
  delivery: Type.Optional(Recipient),
}

const Action = Type.Object({
  action: Type.Enum(['wake', 'agent']),
  sessionKey: Type.Optional(
    Type.String({ description: 'Where the session is to be a new one, its id is another one each time.' }),
  ),
  text: optional('Of a wake: the news.'),
  mode: optional('Of a wake: `now` or `next-heartbeat`.'),
  agentId: optional('The agent that would run it.'),
  message: optional('The message as rendered, before it is wrapped as external content.'),
  name: optional('The name of the hook for people.'),
  deliver: Type.Optional(Type.Boolean()),
  channel: optional('The channel that is asked for; `delivery` tells what comes of it.'),
  to: optional('The recipient that is asked for.'),
  accountId: optional('The account that is asked for.'),
  threadId: optional('The thread that is asked for.'),
  wakeMode: optional('Whether the heartbeat would look at the summary: `now` or `next-heartbeat`.'),
  ...Type.Partial(Type.Object(turn)).properties,
})

const matches = ['endpoint', 'path', 'source', 'path-and-source', 'any', 'request']

export const ReplayReply = Type.Object(
  {
    ok: Type.Literal(true),
    requestId: Type.Optional(Type.String({ description: 'The new request.' })),
    dryRun: Type.Optional(Type.Literal(true)),
    mapping: Type.Optional(
      Type.String({ description: "The mapping that would have it; absent: an endpoint of the gateway's own." }),
    ),
    matchedBy: Type.Optional(Type.Enum(matches, { description: 'Why that mapping; `request`: the replay names it.' })),
    auth: Type.Optional(
      Type.Object(
        {
          scheme: Type.String({ description: '`hook-token`, or the scheme of the mapping.' }),
          given: Type.Optional(Authentication),
        },
        {
          description:
            'What guards the hook now, and how the request was proven when it came. A dry run proves nothing again.',
        },
      ),
    ),
    actions: Type.Optional(Type.Array(Action, { description: 'What would be started; none: it would be skipped.' })),
    heartbeat: Type.Optional(
      Type.Object(turn, { description: 'Of wakes: the heartbeat that would read them, after what waits already.' }),
    ),
  },
  { description: 'The answer of the hook and `requestId`; or, for a dry run, what would be started.' },
)
