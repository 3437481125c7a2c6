// Reads a message from an activity of a verified request.
import { type Attachment, type InboundMessage } from 'svc-gateway/plugin'
import { fetchFile, fieldsOf, listOf, textOf } from 'svc-gateway/kit'
import type { Tokens } from './tokens.ts'
import type { Trust } from './trust.ts'

interface InboundDeps {
  tokens: Tokens
  trust: Trust
}

/** The members of an activity that are used. Their types are not known. */
interface Activity {
  id?: unknown
  text?: unknown
  /** What the button of a card submits. Such an activity has no text. */
  value?: unknown
  serviceUrl?: unknown
  from?: { id?: unknown; aadObjectId?: unknown; name?: unknown; role?: unknown }
  recipient?: { id?: unknown }
  conversation?: { id?: unknown; conversationType?: unknown }
  entities?: unknown
  attachments?: unknown
}

/** Undefined if it is no message of a person. */
export function readMessage(activity: object, deps: InboundDeps): InboundMessage | undefined {
  const { id, text, value, serviceUrl, from, recipient, conversation, entities, attachments } = activity as Activity
  const botId = recipient?.id
  const [sender, ...otherIds] = [from?.aadObjectId, from?.id].flatMap((one) => textOf(one) ?? [])
  const [to, threadId] = splitConversation(textOf(conversation?.id) ?? '')
  if (!textOf(id) || !sender || !to || from?.id === botId || from?.role === 'bot') return undefined
  const mentions = listOf(entities)
    .map(fieldsOf)
    .filter(({ type, mentioned }) => type === 'mention' && idOf(mentioned) === botId)
  const name = textOf(from?.name)
  const choice = textOf(fieldsOf(value)['choice'])
  return {
    id: `${to}/${String(id)}`,
    from: { id: sender, ...(otherIds.length > 0 && { otherIds }), ...(name !== undefined && { name }) },
    to,
    text: choice ?? removeMentions(textOf(text) ?? '', mentions),
    ...(threadId !== undefined && { threadId }),
    ...groupOf(conversation?.conversationType),
    mentioned: mentions.length > 0 || choice !== undefined,
    attachments: listOf(attachments)
      .map(fieldsOf)
      .flatMap((attachment) => readAttachment(attachment, deps) ?? []),
    route: { serviceUrl: String(serviceUrl) },
  }
}

const idOf = (value: unknown): unknown => (value as { id?: unknown } | null | undefined)?.id

/** In a channel the id names the message with which the thread begins: `19:…@thread.tacv2;messageid=17…`. */
function splitConversation(id: string): [to: string, threadId?: string] {
  const [to = '', threadId] = id.split(';messageid=')
  return threadId === undefined ? [to] : [to, threadId]
}

function groupOf(type: unknown): Pick<InboundMessage, 'group'> {
  if (type === 'channel') return { group: 'channel' }
  return type === 'groupChat' ? { group: 'group' } : {}
}

/** A mention's `text` is the mark that stands for it in the message: `<at>Bot</at>`. */
const removeMentions = (text: string, mentions: readonly Record<string, unknown>[]): string =>
  mentions
    .reduce((rest, mention) => (textOf(mention['text']) ? rest.replaceAll(String(mention['text']), '') : rest), text)
    .trim()

const downloadType = 'application/vnd.microsoft.teams.file.download.info'

/** Files have an address of their own that needs no token; pictures in the text need the token of the bot. */
function readAttachment(
  { contentType, contentUrl, content, name }: Record<string, unknown>,
  { tokens, trust }: InboundDeps,
): Attachment | undefined {
  if (contentType === downloadType) {
    const { downloadUrl, fileType } = (content ?? {}) as Record<string, unknown>
    const file = { name: textOf(name) ?? 'file', type: `application/${textOf(fileType) ?? 'octet-stream'}` }
    if (!trust.isFileUrl(downloadUrl)) return file
    return { ...file, read: (signal) => fetchFile(downloadUrl, { isOwn: ({ href }) => trust.isFileUrl(href), signal }) }
  }
  const type = textOf(contentType)
  if (!type?.startsWith('image/')) return undefined
  const picture = { name: textOf(name) ?? 'picture', type }
  if (!trust.isServiceUrl(contentUrl)) return picture
  return {
    ...picture,
    read: async (signal) => {
      const headers = { authorization: `Bearer ${await tokens.get()}` }
      return await fetchFile(contentUrl, { isOwn: ({ href }) => trust.isServiceUrl(href), headers, signal })
    },
  }
}
