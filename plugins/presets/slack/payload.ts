// The fields that are read of Slack's events. Of rarer events, all fields are listed.
import { Maybe } from 'svc-gateway/kit'
import { type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Texts = Maybe(Type.Array(Type.String()))
/** An id, or an object with an id and names. */
const Reference = Type.Optional(Type.Unknown())

/** What a reaction, a pin or a star is about. */
const Item = Maybe(
  Type.Object({
    channel: Text,
    ts: Text,
    message: Maybe(Type.Object({ ts: Text, text: Text, permalink: Text })),
    file: Maybe(Type.Object({ id: Text })),
  }),
)

export const Event = Type.Object({
  type: Type.String({ minLength: 1 }),
  subtype: Text,
  user: Reference,
  user_id: Text,
  actor_id: Text,
  actor: Reference,
  user_profile: Reference,
  bot_id: Text,
  bot_profile: Type.Optional(Type.Unknown()),
  app_id: Text,
  text: Text,
  channel: Reference,
  channel_id: Text,
  channel_name: Text,
  channel_type: Text,
  ts: Text,
  thread_ts: Text,
  message_ts: Text,
  edited: Type.Optional(Type.Unknown()),
  reaction: Text,
  item: Item,
  files: Maybe(Type.Array(Type.Object({ name: Text, title: Text }))),
  file_id: Text,
  channel_ids: Texts,
  new_channel_id: Text,
  subteam: Maybe(
    Type.Object({
      id: Text,
      name: Text,
      handle: Text,
      description: Text,
      user_count: Maybe(Type.Number()),
      date_delete: Maybe(Type.Number()),
      created_by: Text,
      updated_by: Text,
    }),
  ),
  subteam_id: Text,
  added_users: Texts,
  removed_users: Texts,
  name: Text,
  names: Texts,
  old_name: Text,
  new_name: Text,
  email_domain: Text,
  url: Text,
  inviter: Text,
  links: Maybe(Type.Array(Type.Object({ url: Text }))),
  function: Maybe(Type.Object({ title: Text, callback_id: Text, description: Text })),
  callback_id: Text,
  inputs: Type.Optional(Type.Unknown()),
  workflow_id: Text,
  workflow_step: Maybe(Type.Object({ workflow_id: Text, inputs: Type.Optional(Type.Unknown()) })),
  app_name: Text,
  app_request: Maybe(Type.Object({ app: Maybe(Type.Object({ name: Text, app_directory_url: Text })) })),
  message: Type.Optional(Type.Unknown()),
  invite_request: Maybe(
    Type.Object({ email: Text, real_name: Text, request_reason: Text, requester_ids: Texts, channel_ids: Texts }),
  ),
  accepting_user: Reference,
  approving_user: Reference,
  declining_user: Reference,
  assistant_thread: Maybe(Type.Object({ user_id: Text, channel_id: Text, thread_ts: Text })),
  metadata: Maybe(Type.Object({ event_type: Text, event_payload: Type.Optional(Type.Unknown()) })),
})
export type Event = Static<typeof Event>

const Authorization = Type.Object({ user_id: Text, is_bot: Maybe(Type.Boolean()) })

export const Payload = Type.Object({
  type: Type.Enum(['event_callback', 'url_verification', 'app_rate_limited']),
  team_id: Text,
  api_app_id: Text,
  event_id: Text,
  /** The users for whom Slack sends the event: the bot of the app, or somebody who has installed it. */
  authorizations: Maybe(Type.Array(Authorization)),
  minute_rate_limited: Maybe(Type.Number()),
  event: Type.Optional(Event),
})
export type Payload = Static<typeof Payload>
