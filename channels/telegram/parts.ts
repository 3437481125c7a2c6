// Finds the updates that are one message of a person: the files of an album, and the pieces of a long text. Telegram
// sends each of them as a message of its own, and says neither how many there are nor which is the last.
import type { Message } from 'grammy/types'
import { forwardedFromOf, postOf, senderOf } from './post.ts'

/** The updates of one message. */
interface Parts {
  updates: unknown[]
  /** Where its first and its last update are in the list. */
  first: number
  last: number
  /** Further parts may come. */
  isOpen: boolean
}

/** The apps divide texts of more than 4096 characters, and may do so before a word. */
const shortestPiece = 4000
/** Time between two pieces of a text, in seconds. */
const longestGap = 2
const longestAlbum = 10
/** A message that is not complete after so many polls is received as it is. */
const mostPolls = 5

interface Collected {
  /** The updates of each message that is complete. */
  messages: unknown[][]
  /** How many updates these are: the first ones of the list. */
  count: number
}

/** Creates a function that gets the updates of each poll. Those that it does not return must be polled again. */
export function createCollector(): (updates: readonly unknown[]) => Collected {
  let waiting = new Map<unknown, { parts: number; polls: number }>()
  return (updates) => {
    const groups = groupUpdates(updates)
    const before = waiting
    const open = groups.filter(({ isOpen }) => isOpen)
    const stateOf = (group: Parts) => ({
      parts: group.updates.length,
      polls: (before.get(nameOf(group))?.polls ?? 0) + 1,
    })
    waiting = new Map(open.map((group) => [nameOf(group), stateOf(group)]))
    const isMissing = (group: Parts): boolean =>
      stateOf(group).polls <= mostPolls && before.get(nameOf(group))?.parts !== group.updates.length
    const count = countBefore(groups, open.find(isMissing)?.first ?? updates.length)
    return { messages: groups.filter(({ first }) => first < count).map((group) => group.updates), count }
  }
}

const nameOf = ({ updates: [first] }: Parts): unknown => numberOf(first)

export function numberOf(update: unknown): number | undefined {
  const { update_id: id } = (update ?? {}) as { update_id?: unknown }
  return typeof id === 'number' ? id : undefined
}

/** @returns how many updates can be confirmed together: none of their messages has a part behind them */
function countBefore(groups: readonly Parts[], end: number): number {
  const across = groups.find(({ first, last }) => first < end && last >= end)
  return across ? countBefore(groups, across.first) : end
}

/** @returns the messages in the order of their first updates */
function groupUpdates(updates: readonly unknown[]): Parts[] {
  const groups: Parts[] = []
  const open = new Map<string, Parts>()
  for (const [index, update] of updates.entries()) {
    const post = postOf(update)
    const key = post ? keyOf(post) : ''
    const known = open.get(key)
    const group = known && continues(known, post) ? known : { updates: [], first: index, last: index, isOpen: false }
    if (group !== known) groups.push(group)
    // The piece before was the last one.
    if (known && group !== known) known.isOpen = false
    group.updates.push(update)
    group.last = index
    group.isOpen = post !== undefined && isFollowed(post, group)
    if (post) open.set(key, group)
  }
  return groups
}

/** The same for all parts of a message. Words of others must not become those of the sender. */
const keyOf = (post: Message): string =>
  JSON.stringify([
    post.chat.id,
    post.message_thread_id ?? null,
    senderOf(post)?.id ?? null,
    forwardedFromOf(post) ?? null,
    post.media_group_id ?? null,
  ])

function continues({ updates, isOpen }: Parts, post: Message | undefined): boolean {
  if (!isOpen || !post) return false
  if (post.media_group_id !== undefined) return true
  const before = postOf(updates.at(-1))
  return typeof post.text === 'string' && post.date - (before?.date ?? 0) <= longestGap
}

const isFollowed = ({ media_group_id, text }: Message, { updates }: Parts): boolean =>
  media_group_id === undefined
    ? typeof text === 'string' && text.length >= shortestPiece
    : updates.length < longestAlbum
