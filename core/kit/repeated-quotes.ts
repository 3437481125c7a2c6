// Keeps a conversation short in which each message quotes the same one, as all messages of a thread quote its first.
import type { ChannelContext, QuotedMessage } from '../plugin/plugin.ts'
import { keepLatest } from './cache.ts'
import { clip } from './text.ts'

type Receive = ChannelContext['receive']

/** How much of a message is quoted again, in characters: enough to know it. */
const reminder = 200

/**
 * Receives messages. When the agent has read a quoted message once, later messages quote only its beginning, or nothing
 * if the text is only known to the gateway. It counts as read when a message that quotes it was accepted on this
 * connection.
 */
export function shortenRepeatedQuotes(receive: Receive): Receive {
  /** Whether the text was quoted, by id. */
  const known = new Map<string, boolean>()
  return async ({ quoted, ...message }, options) => {
    if (quoted?.id === undefined) return await receive({ ...message, ...(quoted && { quoted }) }, options)
    const { id, text } = quoted
    const isTextKnown = known.get(id)
    const isRead = text === undefined ? isTextKnown !== undefined : isTextKnown === true
    const rest = isRead ? shorten(quoted) : quoted
    const result = await receive({ ...message, ...(rest && { quoted: rest }) }, options)
    if (result === 'accepted') keepLatest(known, [id, isTextKnown === true || text !== undefined])
    return result
  }
}

function shorten({ attachments: _files, text, ...quoted }: QuotedMessage): QuotedMessage | undefined {
  return text === undefined ? undefined : { ...quoted, text: clip(text, reminder) }
}
