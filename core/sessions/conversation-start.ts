// Where the current conversation of a session starts. What was said before stays in the transcript, but no later turn
// reads it.
import type { AcceptCommand, Store } from '../store/store.ts'

const owner = 'conversation-start'

/** The part of an id that is its time, in milliseconds. */
const timeLength = '01a1f947-420c'.length

/**
 * The state that begins a new conversation with the runs that are accepted from now on. Ids are ordered by time, so a
 * run that was accepted before, and ends later, does not belong to it.
 */
export const startConversation = (key: string, newId: string): NonNullable<AcceptCommand['state']> => ({
  owner,
  key,
  value: newId.slice(0, timeLength),
})

/** Ids of runs in the conversation are not less than this. Empty if the session has had only one conversation. */
export async function readConversationStart(store: Pick<Store, 'getState'>, sessionKey: string): Promise<string> {
  const value = await store.getState(owner, sessionKey)
  return typeof value === 'string' ? value : ''
}
