// The preset for Slack's Events API: messages and other events, one session per thread or channel.
import { clip, entryOf, lines, words } from 'svc-gateway/kit'
import { definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Type.Optional(Type.Union([Type.String(), Type.Null()]))
/** An id, or an object with an id and names. */
const Reference = Type.Optional(Type.Unknown())

const Event = Type.Object({
  type: Type.String({ minLength: 1 }),
  subtype: Text,
  user: Reference,
  user_profile: Reference,
  bot_id: Text,
  bot_profile: Type.Optional(Type.Unknown()),
  text: Text,
  channel: Reference,
  channel_type: Text,
  ts: Text,
  thread_ts: Text,
  edited: Type.Optional(Type.Unknown()),
  reaction: Text,
  item: Type.Optional(Type.Union([Type.Object({ channel: Text, ts: Text }), Type.Null()])),
  files: Type.Optional(Type.Union([Type.Array(Type.Object({ name: Text, title: Text })), Type.Null()])),
})

const Authorization = Type.Object({ user_id: Text, is_bot: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])) })

const Payload = Type.Object({
  type: Type.Enum(['event_callback', 'url_verification', 'app_rate_limited']),
  team_id: Text,
  event_id: Text,
  /** The users for whom Slack sends the event: the bot of the app, or somebody who has installed it. */
  authorizations: Type.Optional(Type.Union([Type.Array(Authorization), Type.Null()])),
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
  deliveryId,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/**
 * Slack sends a message that mentions the app twice, as `message` and as `app_mention`, with different event ids. Both
 * get the id of the message, so only the first one starts a run. A mention that is added later by editing the message
 * is an event of its own.
 */
function deliveryId({ payload: { event, event_id: id, team_id: team } }: PresetRequest<Payload>): string | undefined {
  const where = event && idOf(event.channel)
  const isWritten = event?.type === 'message' || event?.type === 'app_mention'
  if (!isWritten || !where || !event.ts || event.edited || isNoise(event)) return id ?? undefined
  return `message ${team ?? ''} ${where} ${event.ts}`
}

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

function toAction({ payload }: PresetRequest<Payload>) {
  const { type, event, team_id: team } = payload
  const workspace = team ?? 'workspace'
  if (type === 'app_rate_limited') {
    return {
      message: 'Slack: so much happens that Slack holds back events of this workspace.',
      sessionKey: `hook:slack:${workspace}`,
    }
  }
  if (type !== 'event_callback' || !event || isNoise(event) || isOwn(payload)) return null
  const where = channelOf(event)
  const thread = event.thread_ts ?? (isMention(payload) ? event.ts : undefined)
  return {
    message: messageOf(payload, event),
    sessionKey: `hook:slack:${where ?? workspace}${thread ? `:${thread}` : ''}`,
  }
}

/** Messages of bots are skipped: an agent that writes would otherwise answer itself. */
function isNoise({ type, subtype, bot_id: bot, bot_profile: profile }: Event): boolean {
  if (type !== 'message' && type !== 'app_mention') return silent.has(type)
  return !spoken.has(subtype) || Boolean(bot || profile)
}

const botsOf = ({ authorizations }: Payload): string[] =>
  (authorizations ?? []).flatMap(({ user_id: id, is_bot: isBot }) => (isBot && id ? [id] : []))

/** Whether the bot of the app caused the event itself. */
function isOwn(payload: Payload): boolean {
  const user = idOf(payload.event?.user)
  return user !== undefined && botsOf(payload).includes(user)
}

/** Both events of a mention get the same session, because either can come first. */
function isMention(payload: Payload): boolean {
  const { type, text } = payload.event ?? {}
  if (type === 'app_mention') return true
  return type === 'message' && botsOf(payload).some((id) => text?.includes(`<@${id}>`) || text?.includes(`<@${id}|`))
}

function messageOf(payload: Payload, event: Event): string {
  const { type, text, reaction, item, ts, thread_ts: thread, channel_type: kind, files } = event
  const who = nameOf(event.user_profile) ?? nameOf(event.user) ?? idOf(event.user)
  const where = nameOf(event.channel) ? `#${nameOf(event.channel)}` : channelOf(event)
  const verbs: Record<string, string> = {
    message: 'wrote',
    app_mention: 'mentioned you',
    reaction_added: words('reacted', reaction && `with :${reaction}:`),
    reaction_removed: words('removed the reaction', reaction && `:${reaction}:`),
  }
  const verb = isMention(payload) ? 'mentioned you' : entryOf(verbs, type)
  const what = verb ? `${who ?? 'Somebody'} ${verb}` : words(type.replaceAll('_', ' '), who && `by ${who}`)
  return lines(
    `Slack: ${words(what, kind === 'im' ? 'in a direct message' : where && `in ${where}`)}`,
    thread && thread !== ts && `In the thread ${thread}`,
    item?.ts && `About the message ${item.ts}`,
    files?.length ? `Files: ${files.map(({ name, title }) => name || title || 'unnamed').join(', ')}` : undefined,
    linkOf(payload, event),
    text && `\n${clip(readable(text), 4000)}`,
  )
}

/** Slack opens this address in the right workspace, at the message if there is one. */
function linkOf({ team_id: team }: Payload, event: Event): string | undefined {
  const channel = channelOf(event)
  if (!channel) return undefined
  const isWritten = event.type === 'message' || event.type === 'app_mention'
  const ts = isWritten ? event.ts : event.item?.ts
  const query = new URLSearchParams({ channel, ...(team && { team }), ...(ts && { message_ts: ts }) })
  return `https://slack.com/app_redirect?${query.toString()}`
}

/**
 * Replaces references with the names that they contain: `<#C1|general>` becomes `#general`. A reference without a name,
 * such as `<@U1>`, stays as it is.
 */
const readable = (text: string): string =>
  text
    .replaceAll(/<#[^<>|\s]*\|([^<>]+)>/g, '#$1')
    .replaceAll(/<[@!][^<>|\s]*\|@?([^<>]+)>/g, '@$1')
    .replaceAll(/<([^<>|\s@#!][^<>|\s]*)\|([^<>]+)>/g, '$2 ($1)')
    .replaceAll(/<!(here|channel|everyone)>/g, '@$1')
    .replaceAll(/<((?:https?|mailto):[^<>|\s]+)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

const channelOf = ({ channel, item }: Event): string | undefined => idOf(channel) ?? item?.channel ?? undefined

/** Returns the id of an object, or the id itself. */
function idOf(value: unknown): string | undefined {
  const id = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : value
  return typeof id === 'string' && id ? id : undefined
}

/** Returns the best name of a user or channel, if the event has one. */
function nameOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { display_name: display, real_name: real, name } = value as Partial<Record<string, unknown>>
  return [display, real, name].find((text): text is string => typeof text === 'string' && text !== '')
}
