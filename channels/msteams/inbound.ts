// Reads a message from an activity of a verified request.
import type { InboundMessage } from 'svc-gateway/plugin'
import { fieldsOf, listOf, textOf } from 'svc-gateway/kit'
import { readAttachments } from './attachments.ts'
import { readQuotes } from './quotes.ts'
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
export async function readMessage(activity: object, deps: InboundDeps): Promise<InboundMessage | undefined> {
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
  const group = groupOf(conversation?.conversationType)
  return {
    id: `${to}/${String(id)}`,
    from: { id: sender, ...(otherIds.length > 0 && { otherIds }), ...(name !== undefined && { name }) },
    to,
    ...(choice === undefined
      ? readQuotes({
          text: removeMentions(textOf(text) ?? '', mentions),
          entities: listOf(entities).map(fieldsOf),
          attachments: listOf(attachments).map(fieldsOf),
          botNames: mentions.flatMap(namesOf),
          botId,
          conversation: to,
          rootId: threadId === String(id) ? undefined : threadId,
        })
      : { text: choice }),
    ...(threadId !== undefined && { threadId }),
    ...(group && { group }),
    mentioned: mentions.length > 0 || choice !== undefined,
    attachments: await readAttachments(listOf(attachments).map(fieldsOf), { ...deps, isInGroup: group !== undefined }),
    route: { serviceUrl: String(serviceUrl) },
  }
}

const idOf = (value: unknown): unknown => (value as { id?: unknown } | null | undefined)?.id

/** In a channel the id names the message with which the thread begins: `19:…@thread.tacv2;messageid=17…`. */
function splitConversation(id: string): [to: string, threadId?: string] {
  const [to = '', threadId] = id.split(';messageid=')
  return threadId === undefined ? [to] : [to, threadId]
}

function groupOf(type: unknown): InboundMessage['group'] {
  if (type === 'channel') return 'channel'
  return type === 'groupChat' ? 'group' : undefined
}

/** Teams puts `&nbsp;` between a mention and what follows. */
const removeMentions = (text: string, mentions: readonly Record<string, unknown>[]): string =>
  mentions
    .reduce((rest, mention) => rest.replaceAll(markOf(mention), ''), text)
    .replaceAll('&nbsp;', ' ')
    .trim()

/** The `text` of a mention is the mark that stands for it: `<at>Bot</at>`. It is missing if the name has a `&`. */
function markOf({ text, mentioned }: Record<string, unknown>): string | RegExp {
  const name = textOf(fieldsOf(mentioned)['name'])
  if (textOf(text) || name === undefined) return textOf(text) ?? /(?!)/g
  const names = [name, name.replaceAll('&', '&amp;')].map(RegExp.escape)
  return new RegExp(`<at(?:\\s[^<>]*)?>(?:${names.join('|')})</at>`, 'g')
}

const namesOf = ({ text, mentioned }: Readonly<Record<string, unknown>>): string[] =>
  [textOf(text)?.replaceAll(/<[^<>]*>/g, ''), textOf(fieldsOf(mentioned)['name'])].flatMap((name) => name ?? [])
