// Reads what an activity quotes or passes on. Teams says it in several ways, of which an activity may have some.
import { fieldsOf, fieldsOfJson, readHtml, textOf } from 'svc-gateway/kit'
import type { InboundMessage, QuotedMessage } from 'svc-gateway/plugin'

type Fields = Readonly<Record<string, unknown>>

interface Quoting extends Pick<InboundMessage, 'quoted' | 'forwardedFrom'> {
  text: string
}

interface Content {
  /** What the sender wrote, without the mention of the bot. */
  text: string
  entities: readonly Fields[]
  attachments: readonly Fields[]
  /** The names by which the message mentions the bot. */
  botNames: readonly string[]
  botId: unknown
  conversation: string
  /** The message with which the thread of a channel begins, if it is another one. */
  rootId: string | undefined
}

/** The text of a message, and what it quotes or passes on. */
export function readQuotes(content: Content): Quoting {
  const { conversation, rootId } = content
  const text = content.text.replaceAll(/<quoted messageId="[^"<>]*" *\/>|<attachment id="[^"<>]*"><\/attachment>/g, '')
  const root = rootId === undefined ? {} : { quoted: { id: `${conversation}/${rootId}` } }
  return readForward(content, text.trim()) ?? { text: text.trim(), ...root, ...readReply(content) }
}

/** The whole message, or its beginning. */
function readReply({ entities, attachments, botId, conversation }: Content): Pick<Quoting, 'quoted'> {
  const sources = [readEntity(entities), readReference(attachments), readBlock(htmlIn(attachments))]
  // The last one has the id of a person that people put into `allowFrom`.
  const found = Object.assign({}, ...sources.map(withoutGaps)) as Reply
  const { id, author, name, text } = found
  if (id === undefined && text === undefined) return {}
  const quoted: QuotedMessage = {
    ...(id !== undefined && { id: `${conversation}/${id}` }),
    isOwn: author === botId,
    from: { id: author?.replace(/^8:orgid:/, ''), name },
    text,
  }
  return { quoted }
}

interface Reply {
  id?: string | undefined
  author?: string | undefined
  name?: string | undefined
  text?: string | undefined
}

const withoutGaps = (reply: Reply): Reply =>
  Object.fromEntries(Object.entries(reply).filter(([, value]) => value !== undefined))

function readEntity(entities: readonly Fields[]): Reply {
  const { messageId, senderId, senderName, preview } = fieldsOf(
    entities.find(({ type }) => type === 'quotedReply')?.['quotedReply'],
  )
  return { id: textOf(messageId), author: textOf(senderId), name: textOf(senderName), text: textOf(preview) }
}

function readReference(attachments: readonly Fields[]): Reply {
  const { messageId, messagePreview, messageSender } = contentOf(attachments, 'messageReference')
  const { id, displayName } = fieldsOf(fieldsOf(messageSender)['user'])
  return { id: textOf(messageId), author: textOf(id), name: textOf(displayName), text: textOf(messagePreview) }
}

function readBlock(html: string): Reply {
  const block = findBlock(html, 'Reply')
  if (!block) return {}
  const [, author, name] =
    /itemprop="mri"[^<>]{0,500}itemid="([^"<>]{0,500})"[^<>]{0,500}>([^<]{0,500})</.exec(block.inner) ?? []
  const [, preview] = /itemprop="(?:preview|copy)"[^<>]{0,500}>([\s\S]*)$/.exec(block.inner) ?? []
  const [, id] = /\bitemid="([^"<>]{0,500})"/.exec(block.tag) ?? []
  const text = preview === undefined ? undefined : toText(preview)
  return { id, author, name: name && toText(name), text }
}

/** With a word of the sender, the message is theirs, and about what they pass on. */
function readForward({ attachments, botNames }: Content, text: string): Quoting | undefined {
  const html = htmlIn(attachments)
  const block = findBlock(html, 'Forward')
  const { originalMessageContent, originalMessageSender } = contentOf(attachments, 'forwardedMessageReference')
  const original = block?.inner ?? textOf(originalMessageContent)
  if (original === undefined) return undefined
  const name = textOf(fieldsOf(fieldsOf(originalMessageSender)['user'])['displayName'])
  const forwarded = toText(original)
  // Beside a block, the text of the activity has both.
  const own = block
    ? toText(
        withoutMentions(
          html.replace(block.outer, () => ''),
          botNames,
        ),
      )
    : text
  return own === ''
    ? { text: forwarded, forwardedFrom: { name } }
    : { text: own, quoted: { isOwn: false, from: { name }, text: forwarded } }
}

const mention = /<span\b[^<>]{0,500}itemtype="http:\/\/schema\.skype\.com\/Mention"[^<>]{0,500}>([^<]{0,500})<\/span>/g

const withoutMentions = (html: string, names: readonly string[]): string =>
  html.replaceAll(mention, (_whole, name: string) => (names.includes(toText(name)) ? '' : name))

/** A block of quoted HTML, which may contain others. */
function findBlock(html: string, kind: 'Reply' | 'Forward'): { tag: string; inner: string; outer: string } | undefined {
  const start = new RegExp(`<blockquote\\b[^<>]{0,500}itemtype="http://schema\\.skype\\.com/${kind}"[^<>]{0,500}>`)
  const found = start.exec(html)
  if (!found) return undefined
  const from = found.index + found[0].length
  let depth = 1
  for (const edge of html.slice(from).matchAll(/<(\/?)blockquote\b[^<>]{0,500}>/g)) {
    depth += edge[1] === '/' ? -1 : 1
    const end = from + edge.index
    if (depth === 0)
      return { tag: found[0], inner: html.slice(from, end), outer: html.slice(found.index, end + edge[0].length) }
  }
  return undefined
}

const toText = (html: string): string => readHtml(html, 'https://teams.microsoft.com/').text.trim()

const htmlIn = (attachments: readonly Fields[]): string =>
  textOf(attachments.find(({ contentType }) => contentType === 'text/html')?.['content']) ?? ''

const contentOf = (attachments: readonly Fields[], type: string): Fields =>
  fieldsOfJson(textOf(attachments.find(({ contentType }) => contentType === type)?.['content']) ?? '')
