// The preset for Slack's Events API: messages and other events, one session per thread or channel.
import { eventMessage, line, words } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest } from 'svc-gateway/plugin'
import { type Event, Payload } from './payload.ts'
import { actorName, actorOf, channelName, channelOf, idOf } from './references.ts'
import { scheme } from './scheme.ts'
import { describeEvent } from './sentences.ts'

const preset = definePreset<Payload>({
  name: 'slack',
  description: 'Messages, mentions and other events of a Slack workspace.',
  payload: Payload,
  mapping: { name: 'Slack' },
  auth: { scheme: 'slack' },
  deliveryId,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

/**
 * Slack sends a message that mentions the app twice, as `message` and as `app_mention`, with different event ids. Both
 * get the id of the message, so only the first one starts a run. A mention that is added later by editing the message
 * is an event of its own.
 */
function deliveryId({ payload: { event, event_id: id, team_id: team } }: PresetRequest<Payload>): string | undefined {
  const where = event && idOf(event.channel)
  if (!event || !isWritten(event) || !where || !event.ts || event.edited || isNoise(event)) return id ?? undefined
  return `message ${team ?? ''} ${where} ${event.ts}`
}

/** Messages with other subtypes are edits, deletions and notices of Slack. */
const spoken: ReadonlySet<unknown> = new Set([undefined, null, 'file_share', 'thread_broadcast', 'me_message'])
/** Events that are sent often, or that another one reports better. */
const silent = new RegExp(
  [
    String.raw`^(?:user|dnd|star)_|^presence_change$|_history_changed$|^(?:im|group)_(?:open|close|created)$`,
    String.raw`^(?:app_home_opened|app_context_changed|assistant_thread_context_changed|entity_details_requested)$`,
    String.raw`^file_(?:change|created|comment_\w+)$`,
  ].join('|'),
)

function toAction({ payload }: PresetRequest<Payload>) {
  const { type, event, team_id: team } = payload
  const workspace = line(team, 100) || 'workspace'
  if (type === 'app_rate_limited') {
    return {
      message: 'Slack: so much happens that Slack holds back events of this workspace.',
      sessionKey: `hook:slack:${workspace}`,
    }
  }
  if (type !== 'event_callback') return null
  if (!event) throw new InputError('event is required; it must be an object with a type.')
  if (isNoise(event) || isOwn(payload)) return null
  const where = channelOf(event)
  const thread = event.thread_ts ?? event.assistant_thread?.thread_ts ?? (isMention(payload) ? event.ts : undefined)
  return {
    message: messageOf(payload, event),
    sessionKey: `hook:slack:${[where ?? workspace, line(thread, 100)].filter(Boolean).join(':')}`,
  }
}

const isWritten = ({ type }: Event): boolean => type === 'message' || type === 'app_mention'

/** Messages of bots are skipped: an agent that writes would otherwise answer itself. */
function isNoise(event: Event): boolean {
  if (!isWritten(event)) return silent.test(event.type)
  return !spoken.has(event.subtype) || Boolean(event.bot_id || event.bot_profile)
}

const botsOf = ({ authorizations }: Payload): string[] =>
  (authorizations ?? []).flatMap(({ user_id: id, is_bot: isBot }) => (isBot && id ? [id] : []))

/** Whether the app caused the event itself. */
function isOwn(payload: Payload): boolean {
  const { event, api_app_id: app } = payload
  const user = event && idOf(actorOf(event))
  const isOfApp = event?.type.startsWith('message_metadata_') && event.app_id === app
  return Boolean(isOfApp) || (user !== undefined && botsOf(payload).includes(user))
}

/** Both events of a mention get the same session, because either can come first. */
function isMention(payload: Payload): boolean {
  const { type, text } = payload.event ?? {}
  if (type === 'app_mention') return true
  return type === 'message' && botsOf(payload).some((id) => text?.includes(`<@${id}>`) || text?.includes(`<@${id}|`))
}

function messageOf(payload: Payload, event: Event): string {
  const parts = isWritten(event) ? describeMessage(payload, event) : describeEvent(event)
  const isNamed = /channel|^group_/.test(event.type)
  const where = event.channel_type === 'im' ? 'a direct message' : isNamed ? undefined : channelName(event)
  return eventMessage(
    'Slack',
    { ...parts, place: where, link: parts.link || linkOf(payload, event), text: parts.text && readable(parts.text) },
    4000,
  )
}

function describeMessage(payload: Payload, event: Event) {
  const { text, ts, thread_ts: thread, files } = event
  const names = (files ?? []).slice(0, mostFiles).map(({ name, title }) => line(name || title, 100) || 'unnamed')
  const more = (files ?? []).length - names.length
  return {
    head: words(actorName(event) ?? 'Somebody', isMention(payload) ? 'mentioned you' : 'wrote'),
    details: [
      thread && thread !== ts && `In the thread ${thread}`,
      names.length > 0 && `Files: ${names.join(', ')}${more > 0 ? `, and ${more} more` : ''}`,
    ],
    text,
    link: undefined,
  }
}

const mostFiles = 10

/** Slack opens this address in the right workspace, at the message if there is one. */
function linkOf({ team_id: team }: Payload, event: Event): string | undefined {
  const channel = channelOf(event)
  if (!channel || event.type === 'channel_deleted') return undefined
  const ts = line(isWritten(event) ? event.ts : (event.item?.ts ?? event.message_ts), 100)
  const query = new URLSearchParams({ channel, ...(team && { team: line(team, 100) }), ...(ts && { message_ts: ts }) })
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
