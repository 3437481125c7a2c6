// Reads what a message of the Cloud API answers, and whether its sender passes it on.
import { fieldsOf, keepLatest, textOf } from 'svc-gateway/kit'
import type { InboundMessage, QuotedMessage } from 'svc-gateway/plugin'

type Fields = Readonly<Record<string, unknown>>

interface Source {
  /** The message as Meta describes it, and the change that it is in. */
  item: Fields
  value: Fields
}

/** Meta names the message that is answered by its id alone, so the texts of the latest ones are kept in memory. */
export function createRecentMessages() {
  const recent = new Map<string, QuotedMessage>()

  function readQuoted({ item, value }: Source): QuotedMessage | undefined {
    const { id, from } = fieldsOf(item.context)
    const [original, author] = [textOf(id), textOf(from)?.replace(/^(?=\d)/, '+')]
    if (original === undefined) return undefined
    const own = textOf(fieldsOf(value.metadata).display_phone_number)?.replaceAll(/\D/g, '')
    const isOwn = own !== undefined && author === `+${own}`
    const known = recent.get(original)
    const by = known ? known.from : author !== undefined && { id: author }
    return {
      id: original,
      ...(by && { from: by }),
      ...(known && { text: known.text }),
      ...(isOwn && { isOwn }),
    }
  }

  return {
    withContext(message: InboundMessage, source: Source): InboundMessage {
      const { forwarded, frequently_forwarded: often } = fieldsOf(source.item.context)
      const isForwarded = forwarded === true || often === true
      const quoted = readQuoted(source)
      // Who passes a text on has not written it.
      const { id, name } = message.from
      keepLatest(recent, [message.id, { text: message.text, from: isForwarded ? undefined : { id, name } }])
      return { ...message, ...(quoted && { quoted }), ...(isForwarded && { forwardedFrom: {} }) }
    },
  }
}
