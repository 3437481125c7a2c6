// Keeps a conversation short in which each message quotes the same one, as all messages of a thread quote its first.
import type { ChannelContext } from '../plugin/plugin.ts'
import { keepLatest } from './cache.ts'
import { clip } from './text.ts'

type Receive = ChannelContext['receive']

/** How much of a message is quoted again, in characters: enough to know it. */
const reminder = 200

/**
 * Receives messages. When the agent has read a quoted message once, later messages quote only its beginning. It counts
 * as read when a message that quotes it was accepted on this connection.
 */
export function shortenRepeatedQuotes(receive: Receive): Receive {
  const known = new Map<string, true>()
  return async (message, options) => {
    const { quoted } = message
    if (quoted?.id === undefined) return await receive(message, options)
    const { attachments: _files, text, ...rest } = quoted
    const short = { ...rest, ...(text !== undefined && { text: clip(text, reminder) }) }
    const result = await receive(known.has(quoted.id) ? { ...message, quoted: short } : message, options)
    if (result === 'accepted') keepLatest(known, [quoted.id, true])
    return result
  }
}
