// What happened, for each type of event, and the details of it.
import { entryOf, line, listFields, plain, quote, valueText, words } from 'svc-gateway/kit'
import type { Event } from './payload.ts'
import { actorName, channelName, idOf } from './references.ts'

interface EventParts {
  head: string
  details?: readonly (string | false | null | undefined)[]
  text?: string | null | undefined
  link?: string | null | undefined
}

/** By type. Events of private channels (`group_archive`) are those of channels. */
const sentences: Readonly<Record<string, (event: Event, who: string) => EventParts>> = {
  reaction_added: ({ reaction, item }, who) => ({
    head: words(who, 'reacted', reaction && `with :${line(reaction, 100)}:`),
    details: [item?.ts && `About the message ${item.ts}`],
  }),
  reaction_removed: ({ reaction, item }, who) => ({
    head: words(who, 'removed the reaction', reaction && `:${line(reaction, 100)}:`),
    details: [item?.ts && `About the message ${item.ts}`],
  }),
  pin_added: (event, who) => pin(event, `${who} pinned`),
  pin_removed: (event, who) => pin(event, `${who} unpinned`),
  file_shared: ({ file_id: file }, who) => ({ head: words(who, 'shared the file', file) }),
  file_unshared: ({ file_id: file }, who) => ({ head: words(who, 'stopped sharing the file', file) }),
  file_public: ({ file_id: file }, who) => ({ head: words(who, 'gave everybody access to the file', file) }),
  file_deleted: ({ file_id: file, channel_ids: channels }) => ({
    head: words('the file', file, 'was deleted'),
    details: [channels?.length ? `Channels: ${listed(channels)}` : undefined],
  }),
  link_shared: ({ links, message_ts: ts }, who) => ({
    head: words(who, 'shared', links?.length === 1 ? 'a link' : 'links'),
    details: [ts && `In the message ${ts}`, ...(links ?? []).slice(0, mostListed).map(({ url }) => url)],
  }),
  channel_created: (event, who) => ({ head: words(who, 'created the channel', channelName(event)) }),
  channel_rename: (event) => ({ head: words('the channel', idOf(event.channel), 'is now called', channelName(event)) }),
  channel_archive: (event, who) => ({ head: words(who, 'archived the channel', channelName(event)) }),
  channel_unarchive: (event, who) => ({ head: words(who, 'restored the channel', channelName(event)) }),
  channel_deleted: (event) => ({ head: words('the channel', channelName(event), 'was deleted') }),
  channel_left: (event, who) => ({ head: words('you were removed from the channel', channelName(event), `by ${who}`) }),
  channel_shared: (event) => ({ head: words('the channel', channelName(event), 'is shared with another workspace') }),
  channel_unshared: (event) => ({
    head: words('the channel', channelName(event), 'is no longer shared with another workspace'),
  }),
  channel_id_changed: (event) => ({ head: words('a channel has a new id,', event.new_channel_id) }),
  member_joined_channel: (event, who) => ({
    head: words(who, 'joined the channel', channelName(event)),
    details: [event.inviter && `Invited by: ${event.inviter}`],
  }),
  member_left_channel: (event, who) => ({ head: words(who, 'left the channel', channelName(event)) }),
  subteam_created: (event, who) => subteam(event, `${who} created`),
  subteam_updated: (event, who) => subteam(event, event.subteam?.date_delete ? `${who} disabled` : `${who} changed`),
  subteam_members_changed: ({ subteam_id: id, added_users: added, removed_users: removed }) => ({
    head: words('the members of the user group', id, 'changed'),
    details: [added?.length ? `Added: ${listed(added)}` : '', removed?.length ? `Removed: ${listed(removed)}` : ''],
  }),
  subteam_self_added: ({ subteam_id: id }) => ({ head: words('you were added to the user group', id) }),
  subteam_self_removed: ({ subteam_id: id }) => ({ head: words('you were removed from the user group', id) }),
  emoji_changed: emoji,
  email_domain_changed: ({ email_domain: domain }) => ({
    head: words('the email domain of the workspace is now', domain),
  }),
  team_join: (_event, who) => ({ head: `${who} joined the workspace` }),
  team_rename: ({ name }) => ({ head: words('the workspace is now called', quote(name)) }),
  team_domain_change: ({ url }) => ({ head: 'the workspace has a new address', link: url }),
  app_installed: ({ app_name: name }, who) => ({ head: words(who, 'installed the app', quote(name)) }),
  app_deleted: ({ app_name: name }) => ({ head: words('the app', quote(name), 'was deleted') }),
  app_uninstalled_team: ({ app_name: name }, who) => ({ head: words(who, 'removed the app', quote(name)) }),
  app_uninstalled: () => ({ head: 'your app was removed from the workspace' }),
  tokens_revoked: () => ({ head: 'tokens of your app were revoked' }),
  app_requested: ({ app_request: request, message }, who) => ({
    head: words(who, 'asks for the app', quote(request?.app?.name)),
    link: request?.app?.app_directory_url,
    text: valueText(message),
  }),
  invite_requested: ({ invite_request: request }, who) => ({
    head: words(
      who,
      'asks to invite',
      line(request?.real_name, 100),
      line(request?.email, 100) && `(${line(request?.email, 100)})`,
    ),
    details: [request?.channel_ids?.length ? `Channels: ${listed(request.channel_ids)}` : undefined],
    text: request?.request_reason,
  }),
  shared_channel_invite_accepted: (event, who) => invitation(event, `${who} accepted`),
  shared_channel_invite_approved: (event, who) => invitation(event, `${who} approved`),
  shared_channel_invite_declined: (event, who) => invitation(event, `${who} declined`),
  shared_channel_invite_requested: (event, who) => invitation(event, `${who} asks for`),
  shared_channel_invite_received: (event) => invitation(event, 'you received'),
  function_executed: ({ function: called, inputs }) => ({
    head: words('a workflow runs the function', quote(called?.title || called?.callback_id)),
    details: listFields(inputs ?? {}, format),
    text: called?.description,
  }),
  workflow_step_execute: ({ callback_id: id, workflow_step: step }) => ({
    head: words('a workflow runs the step', quote(id)),
    details: [step?.workflow_id && `Workflow: ${step.workflow_id}`, ...listFields(step?.inputs ?? {}, format)],
  }),
  workflow_published: ({ workflow_id: id }) => ({ head: words('the workflow', id, 'was published') }),
  workflow_unpublished: ({ workflow_id: id }) => ({ head: words('the workflow', id, 'was unpublished') }),
  workflow_deleted: ({ workflow_id: id }) => ({ head: words('the workflow', id, 'was deleted') }),
  workflow_step_deleted: ({ workflow_id: id }) => ({ head: words('a step was deleted from the workflow', id) }),
  assistant_thread_started: (_event, who) => ({ head: `${who} opened a conversation with you` }),
  message_metadata_posted: (event, who) => metadata(event, `${who} posted`),
  message_metadata_updated: (event, who) => metadata(event, `${who} changed`),
  message_metadata_deleted: (event, who) => metadata(event, `${who} deleted`),
}

/** Of an event without a sentence, all fields are listed. */
export function describeEvent(event: Event): EventParts {
  const actor = actorName(event)
  const describe = entryOf(sentences, event.type.replace(/^group_/, 'channel_'))
  if (describe) return describe(event, actor ?? 'Somebody')
  return { head: words(plain(event.type), actor && `by ${actor}`), details: listFields(event, format) }
}

function pin({ item }: Event, what: string): EventParts {
  const file = item?.file?.id
  const { text, permalink } = item?.message ?? {}
  return { head: words(what, file ? `the file ${file}` : 'a message'), link: permalink, text }
}

function subteam({ subteam: group }: Event, what: string): EventParts {
  const handle = line(group?.handle, 100)
  return {
    head: words(what, 'the user group', handle ? `@${handle}` : group?.id, quote(group?.name)),
    details: [typeof group?.user_count === 'number' && `Members: ${group.user_count}`],
    text: group?.description,
  }
}

function emoji({ subtype, name, names, old_name: before, new_name: now }: Event): EventParts {
  const removed = names?.length === 1 ? `the emoji :${names[0]}: was` : `emojis were`
  if (subtype === 'add') return { head: `the emoji :${line(name, 100)}: was added` }
  if (subtype === 'rename') return { head: `the emoji :${line(before, 100)}: is now :${line(now, 100)}:` }
  if (subtype === 'remove')
    return { head: `${removed} removed`, details: [names?.length ? `Names: ${listed(names)}` : ''] }
  return { head: 'the emojis of the workspace changed' }
}

const invitation = (event: Event, what: string): EventParts => ({
  head: words(what, 'an invitation to share the channel', channelName(event)),
})

const metadata = ({ metadata: data, message_ts: ts }: Event, what: string): EventParts => ({
  head: words(what, 'a message with metadata', quote(data?.event_type)),
  details: [ts && `About the message ${ts}`, ...listFields(data?.event_payload ?? {}, format)],
})

const mostListed = 20

const listed = (values: readonly string[]): string =>
  [
    ...values.slice(0, mostListed).map((value) => line(value, 50)),
    ...(values.length > mostListed ? [`and ${values.length - mostListed} more`] : []),
  ].join(', ')

/** Fields that are in the rest of the message, or that say nothing, and secrets. */
const ignored =
  /token|secret|trigger_id|hash|^(?:type|user|user_id|event_ts|team|team_id|enterprise_id|cache_ts)$|image_/

const format = {
  labelOf: (path: readonly string[]) => plain(path.join(' ')),
  textOf: (value: unknown, path: readonly string[]) => {
    if (value === null || value === false || ignored.test(path.at(-1) ?? '')) return ''
    if (Array.isArray(value)) return listed(value.flatMap((each) => valueText(each) ?? idOf(each) ?? []))
    return valueText(value)
  },
}
