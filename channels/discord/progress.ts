// Stores how far Discord's messages were received, so that a new connection continues there.
import type { SessionInfo } from '@discordjs/ws'
import { type ExtensionState, type Json } from 'svc-gateway/plugin'
import { fieldsOf, keepLatest } from 'svc-gateway/kit'
import { isId } from './messages.ts'

export interface Progress {
  /** The session that Discord can resume, if there is one. */
  readonly session: SessionInfo | undefined
  /** Conversations with the agent and their last message, the latest conversation last. */
  conversations(): [channelId: string, messageId: string][]
  /** Stores that a session continues here. */
  keepSession(session: SessionInfo): Promise<void>
  /** Stores that a message was received, and its conversation if the agent reads it. */
  received(message: { channelId: string; id: string; isRead: boolean; session: SessionInfo | undefined }): Promise<void>
  /** The agent has begun a conversation, so answers to it must not be missed. */
  begun(channelId: string, messageId: string): Promise<void>
  forget(channelId: string): void
}

/** Discord has no list of unread messages: each conversation costs one request when a session could not be resumed. */
const maxConversations = 100

/** @param botId another token may belong to another bot, which continues elsewhere */
export async function openProgress(state: ExtensionState, botId: string): Promise<Progress> {
  const key = `progress:${botId}`
  const stored = readStored(await state.get(key))
  const conversations = new Map(stored.conversations)
  let session = stored.session

  const store = () => state.set(key, { session: session ? { ...session } : null, conversations: [...conversations] })

  function note(channelId: string, messageId: string): void {
    const known = conversations.get(channelId) ?? '0'
    const last = BigInt(messageId) > BigInt(known) ? messageId : known
    keepLatest(conversations, [channelId, last], maxConversations)
  }

  return {
    session,
    conversations: () => [...conversations],
    async keepSession(current) {
      session = current
      await store()
    },
    async received(message) {
      session = message.session ?? session
      if (message.isRead || conversations.has(message.channelId)) note(message.channelId, message.id)
      if (message.isRead) await store()
    },
    async begun(channelId, messageId) {
      if (conversations.has(channelId)) return
      note(channelId, messageId)
      await store()
    },
    forget: (channelId) => void conversations.delete(channelId),
  }
}

function readStored(value: Json | undefined) {
  const { session, conversations } = fieldsOf(value)
  return {
    session: isSession(session) ? session : undefined,
    conversations: (Array.isArray(conversations) ? conversations : []).filter(isConversation),
  }
}

function isSession(value: unknown): value is SessionInfo {
  const { sessionId, resumeURL, sequence } = fieldsOf(value)
  return typeof sessionId === 'string' && typeof resumeURL === 'string' && typeof sequence === 'number'
}

const isConversation = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every(isId)
