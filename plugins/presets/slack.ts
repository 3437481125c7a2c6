// The preset for Slack's Events API: messages and other events, one session per thread or channel.
import { clip, definePreset, entryOf, lines, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]))

const Event = Type.Object({
  type: Type.String({ minLength: 1 }),
  subtype: Text,
  user: Type.Optional(Type.Unknown()),
  bot_id: Text,
  bot_profile: Type.Optional(Type.Unknown()),
  text: Text,
  // An id, or a channel object after it was created or renamed.
  channel: Type.Optional(Type.Unknown()),
  channel_type: Text,
  ts: Text,
  thread_ts: Text,
  reaction: Text,
  item: Type.Optional(Type.Union([Type.Object({ channel: Text, ts: Text }), Type.Null()])),
  files: Type.Optional(Type.Array(Type.Object({ name: Text }))),
})

const Payload = Type.Object({
  type: Type.Enum(['event_callback', 'url_verification', 'app_rate_limited']),
  team_id: Text,
  event_id: Text,
  minute_rate_limited: Type.Optional(Type.Number()),
  event: Type.Optional(Event),
})
type Payload = Static<typeof Payload>
type Event = Static<typeof Event>

export default definePreset<Payload>({
  name: 'slack',
  description: 'Messages, mentions and other events of a Slack workspace.',
  payload: Payload,
  mapping: { name: 'Slack' },
  auth: { scheme: 'slack' },
  deliveryId: ({ payload }) => payload.event_id ?? undefined,
  toAction,
})

/** Messages with other subtypes are edits, deletions and notices of Slack. */
const spoken: ReadonlySet<unknown> = new Set([undefined, null, 'file_share', 'thread_broadcast', 'me_message'])
const silent: ReadonlySet<string> = new Set([
  'user_typing',
  'presence_change',
  'user_change',
  'user_status_changed',
  'user_profile_changed',
  'app_home_opened',
])

function toAction({ payload: { type, event, team_id: team } }: PresetRequest<Payload>) {
  const workspace = team ?? 'workspace'
  if (type === 'app_rate_limited') {
    return {
      message: 'Slack: so much happens that Slack holds back events of this workspace.',
      sessionKey: `hook:slack:${workspace}`,
    }
  }
  if (type !== 'event_callback' || !event || isNoise(event)) return null
  const where = channelOf(event)
  const thread = event.thread_ts ?? (event.type === 'app_mention' ? event.ts : undefined)
  return {
    message: messageOf(event, where),
    sessionKey: `hook:slack:${where ?? workspace}${thread ? `:${thread}` : ''}`,
  }
}

/** Messages of bots are skipped: an agent that writes would otherwise answer itself. */
function isNoise({ type, subtype, bot_id: bot, bot_profile: profile }: Event): boolean {
  return silent.has(type) || (type === 'message' && (!spoken.has(subtype) || Boolean(bot ?? profile)))
}

function messageOf(event: Event, where: string | undefined): string {
  const { type, text, reaction, item, ts, thread_ts: thread, channel_type: kind } = event
  const who = idOf(event.user)
  const place = kind === 'im' ? 'in a direct message' : where ? `in ${where}` : ''
  const verbs: Record<string, string> = {
    message: 'wrote',
    app_mention: 'mentioned you',
    reaction_added: `reacted with :${reaction ?? ''}:`,
  }
  const verb = entryOf(verbs, type)
  const what = verb ? `${who ?? 'Somebody'} ${verb}` : `${type.replaceAll('_', ' ')}${who ? ` by ${who}` : ''}`
  return lines(
    `Slack: ${what} ${place}`.trimEnd(),
    thread && thread !== ts && `In the thread ${thread}`,
    item?.ts && `About the message ${item.ts}`,
    event.files?.length ? `Files: ${event.files.map(({ name }) => name ?? 'unnamed').join(', ')}` : undefined,
    text && `\n${clip(text, 4000)}`,
  )
}

const channelOf = ({ channel, item }: Event): string | undefined => idOf(channel) ?? item?.channel ?? undefined

/** Returns the id of an object, or the id itself. */
function idOf(value: unknown): string | undefined {
  const id = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : value
  return typeof id === 'string' ? id : undefined
}
