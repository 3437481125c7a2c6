// What a replay is answered, and a dry run: the match, the proof, and what the model would read.
import { ActionPreview, TurnPreview } from '../runs/turn-preview.ts'
import { type Static, Type } from '../typebox.ts'

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
export type Authentication = Static<typeof Authentication>

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
    actions: Type.Optional(
      Type.Array(ActionPreview, { description: 'What would be started; none: it would be skipped.' }),
    ),
    heartbeat: Type.Optional(
      Type.Object(TurnPreview.properties, {
        description: 'For wakes: the heartbeat that would read them, after the events that wait already.',
      }),
    ),
  },
  { description: 'The answer of the hook and `requestId`; or, for a dry run, what would be started.' },
)
export type ReplayReply = Static<typeof ReplayReply>
