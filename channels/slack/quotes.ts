// Reads what a message quotes: messages that people share, and the one with which a thread begins.
import { fieldsOf, listOf, textOf } from 'svc-gateway/kit'
import type { Attachment, InboundMessage, QuotedMessage } from 'svc-gateway/plugin'
import type { Directory } from './directory.ts'
import { readText } from './text.ts'

interface QuotesDeps {
  botUserId: string
  directory: Pick<Directory, 'nameOf' | 'findMessage'>
  readFiles(files: unknown): Promise<Attachment[]>
}

interface Own {
  text: string
  attachments: Attachment[]
}

type Quoting = Own & Pick<InboundMessage, 'quoted' | 'forwardedFrom'>

export interface Quotes {
  /** The text and the files of a message, and the messages that it shares. */
  readShares(own: Own, attachments: unknown): Promise<Quoting>
  /** The message with which a thread begins. If Slack does not give it, only its id. */
  quoteRoot(channel: string, ts: string): Promise<QuotedMessage>
}

export function createQuotes({ botUserId, directory, readFiles }: QuotesDeps): Quotes {
  const toText = (raw: unknown): string => readText(textOf(raw) ?? '', botUserId).text

  /** Who shares a message without a word only passes it on; a comment is the sender's own, and about the share. */
  async function readShares(own: Own, attachments: unknown): Promise<Quoting> {
    const found = listOf(attachments).map(fieldsOf).filter(isShare)
    const [first, ...others] = await Promise.all(found.map(readShare))
    if (!first) return own
    const shares = [first, ...others]
    const text = shares.map((share) => share.text).join('\n\n')
    const files = shares.flatMap((share) => share.attachments)
    if (own.text !== '' || own.attachments.length > 0)
      return { ...own, quoted: { ...(others.length === 0 && first), text, attachments: files } }
    const names = new Set(shares.flatMap(({ from: { name } }) => name ?? []))
    return { text, attachments: files, forwardedFrom: { name: [...names].join(', ') } }
  }

  async function readShare(share: Readonly<Record<string, unknown>>) {
    const { author_id: author, author_name: name, channel_id: channel, ts, text, fallback, files } = share
    const [place, time] = [textOf(channel), textOf(ts)]
    return {
      ...(place !== undefined && time !== undefined && { id: `${place}:${time}` }),
      from: { id: textOf(author), name: textOf(name) },
      isOwn: author === botUserId,
      text: toText(textOf(text) ?? fallback),
      attachments: await readFiles(files),
    }
  }

  async function quoteRoot(channel: string, ts: string): Promise<QuotedMessage> {
    const id = `${channel}:${ts}`
    const found = await directory.findMessage(id)
    if (!found) return { id }
    const { user, bot_id: bot, username, text, attachments, files } = fieldsOf(found)
    const author = textOf(user)
    const name = textOf(username) ?? (author === undefined ? undefined : await directory.nameOf(author))
    const own = { text: toText(text), attachments: await readFiles(files) }
    const { forwardedFrom, ...content } = await readShares(own, attachments)
    const isOwn = author === botUserId
    return {
      // Sending a file gives only the id of the file.
      id: (isOwn && textOf(fieldsOf(listOf(files)[0])['id'])) || id,
      isOwn,
      from: forwardedFrom ?? { id: author ?? textOf(bot), name },
      text: content.text || listOf(attachments).map(fieldsOf).map(readCard).filter(Boolean).join('\n\n'),
      attachments: content.attachments,
    }
  }

  /** Apps that report something often write no text, but only such a card. */
  const readCard = ({ pretext, title, text, fallback }: Readonly<Record<string, unknown>>): string =>
    [pretext, title, text].map(toText).filter(Boolean).join('\n') || toText(fallback)

  return { readShares, quoteRoot }
}

/** Slack sets the first for its action "Share message", and the second for a link to a message as well. */
const isShare = ({ is_share: shared, is_msg_unfurl: linked }: Readonly<Record<string, unknown>>): boolean =>
  shared === true || linked === true
