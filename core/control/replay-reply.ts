// The reply of a replay, and of a dry run: the mapping, the authentication and the actions.
import { wakeModes } from '../action.ts'
import { ActionPreview, TurnPreview } from '../runs/turn-preview.ts'
import { type Static, Type } from '../typebox.ts'
import { sessionKey as sealedKey } from './content.ts'

/** How the sender of a request was authenticated. */
export const Authentication = Type.Object(
  {
    scheme: Type.String({
      description:
        '`hook-token`, the scheme of the `auth` of its mapping, or `none`: the sender was not authenticated.',
    }),
    secret: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'Position of the secret that was used among those of the mapping, from 0.',
      }),
    ),
  },
  { description: 'How the sender was authenticated. Absent: an operator replayed the request.' },
)
export type Authentication = Static<typeof Authentication>

export const SkippedBy = Type.Object(
  {
    mapping: Type.String({ description: 'Id of the mapping.' }),
    rule: Type.Integer({ minimum: 0, description: 'Position of the conditions in `skip`, from 0.' }),
  },
  { description: 'The conditions that skipped the request.' },
)

const Texts = (description: string) => Type.Optional(Type.Array(Type.String(), { description }))

/** What the hook itself answers. */
const hookReply = {
  ok: Type.Literal(true),
  skipped: Type.Optional(Type.Literal(true, { description: 'The mapping skipped the request.' })),
  mode: Type.Optional(Type.Enum([...wakeModes])),
  eventId: Type.Optional(Type.String()),
  runId: Type.Optional(Type.String({ description: 'Id of the run, for `GET /runs/{id}`.' })),
  sessionKey: Type.Optional(Type.String({ ...sealedKey, description: 'The whole key of the session of the run.' })),
  warnings: Texts('What differs from the request.'),
  runIds: Texts('For several actions: the ids of the runs.'),
  eventIds: Texts('For several actions: the ids of the events.'),
}

const matches = ['endpoint', 'path', 'source', 'path-and-source', 'conditions', 'any', 'request']

export const ReplayReply = Type.Object(
  {
    ...hookReply,
    requestId: Type.Optional(Type.String({ description: 'Id of the new request.' })),
    dryRun: Type.Optional(Type.Literal(true)),
    mapping: Type.Optional(
      Type.String({ description: 'Id of the mapping. Absent: the request goes to `/hooks/wake` or `/hooks/agent`.' }),
    ),
    matchedBy: Type.Optional(
      Type.Enum(matches, { description: 'How the mapping was found; `request`: the replay names it.' }),
    ),
    auth: Type.Optional(
      Type.Object(
        {
          scheme: Type.String({ description: '`hook-token`, or the scheme of the mapping.' }),
          given: Type.Optional(Authentication),
        },
        {
          description:
            'The credential that the hook requires now, and the one that the request had. A dry run verifies nothing.',
        },
      ),
    ),
    actions: Type.Optional(
      Type.Array(ActionPreview, { description: 'What would be started. An empty list: the request would be skipped.' }),
    ),
    skippedBy: Type.Optional(SkippedBy),
    heartbeat: Type.Optional(
      Type.Object(TurnPreview.properties, {
        description: 'For wakes: the heartbeat that would read them, after the events that wait already.',
      }),
    ),
  },
  { description: 'The reply of the hook and `requestId`; for a dry run, what would be started.' },
)
export type ReplayReply = Static<typeof ReplayReply>
