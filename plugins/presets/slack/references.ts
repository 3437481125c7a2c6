// Who did something and where: users and channels of an event, which each type of event names differently.
import { line } from 'svc-gateway/kit'
import type { Event } from './payload.ts'

/** Returns the id of an object, or the id itself. */
export function idOf(value: unknown): string | undefined {
  const id = typeof value === 'object' && value !== null ? (value as { id?: unknown }).id : value
  return typeof id === 'string' ? line(id, 100) || undefined : undefined
}

/** Returns the best name of a user or channel, if the event has one. */
export function nameOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { display_name: display, real_name: real, name } = value as Partial<Record<string, unknown>>
  const found = [display, real, name].find((text): text is string => typeof text === 'string' && text.trim() !== '')
  return line(found, 100) || undefined
}

/** Who caused the event: an id, or an object with an id and names. */
export const actorOf = (event: Event): unknown =>
  [
    event.user,
    event.user_id,
    event.actor,
    event.actor_id,
    event.accepting_user ?? event.approving_user ?? event.declining_user,
    event.assistant_thread?.user_id,
    event.subteam?.updated_by ?? event.subteam?.created_by,
    creatorOf(event.channel),
    event.invite_request?.requester_ids?.[0],
  ].find((value) => (idOf(value) ?? nameOf(value)) !== undefined)

const creatorOf = (channel: unknown): unknown =>
  typeof channel === 'object' && channel !== null ? (channel as { creator?: unknown }).creator : undefined

/** `Ada Lovelace`, or else the id. */
export function actorName(event: Event): string | undefined {
  const actor = actorOf(event)
  return nameOf(event.user_profile) ?? nameOf(actor) ?? idOf(actor)
}

/** The id of the channel that the event is in. */
export const channelOf = (event: Event): string | undefined =>
  [
    idOf(event.channel),
    event.item?.channel,
    event.channel_id,
    event.assistant_thread?.channel_id,
    event.new_channel_id,
    event.channel_ids?.length === 1 ? event.channel_ids[0] : undefined,
  ]
    .map(idOf)
    .find(Boolean)

/** `#general` if the event has the name, or else the id. */
export function channelName(event: Event): string | undefined {
  const name = nameOf(event.channel) ?? line(event.channel_name, 100)
  return name ? `#${name}` : channelOf(event)
}
