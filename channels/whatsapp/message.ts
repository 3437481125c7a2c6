// Translates a decrypted message of WhatsApp into a message for the gateway.
import type { BinaryNode, proto } from 'baileys'
import type { Attachment, InboundMessage } from 'svc-gateway/plugin'
import { isGroup, isLid, isNumber, parseJid, toAddress } from './address.ts'
import type { ReadMessage } from './albums.ts'
import type { Library } from './library.ts'
import { downloadMedia } from './media.ts'
import { type Card, describeCards, describePlace, unreadable } from './other-content.ts'
import { contextOf, isOfAccount, readQuotes } from './quotes.ts'
import type { Repository } from './send.ts'

interface ReadContext {
  library: Library
  repository: Pick<Repository, 'lidMapping'>
  /** The ids of the account. */
  me: { id: string; lid?: string }
  mediaHost: string
}

/** Reads a message, and what it says about the album that it is in. */
export async function readMessage(
  context: ReadContext,
  stanza: BinaryNode,
  plaintext: Uint8Array,
): Promise<ReadMessage> {
  const { library } = context
  const decoded = library.proto.Message.decode(library.unpadRandomMax16(plaintext))
  const content = library.normalizeMessageContent(decoded)
  const { associationType, parentMessageKey } =
    (decoded.messageContextInfo ?? content?.messageContextInfo)?.messageAssociation ?? {}
  const isPart = associationType === library.proto.MessageAssociation.AssociationType.MEDIA_ALBUM
  const { expectedImageCount, expectedVideoCount } = content?.albumMessage ?? {}
  return {
    message: content && (await readContent(context, stanza, content)),
    album: isPart ? (parentMessageKey?.id ?? undefined) : undefined,
    announced: content?.albumMessage ? (expectedImageCount ?? 0) + (expectedVideoCount ?? 0) : undefined,
  }
}

/** @returns undefined for what is not a message of somebody else: own messages, reactions, edits, status updates */
async function readContent(
  context: ReadContext,
  stanza: BinaryNode,
  content: proto.IMessage,
): Promise<InboundMessage | undefined> {
  const { library, me } = context
  const { fullMessage } = library.decodeMessageNode(stanza, me.id, me.lid ?? '')
  const { id, fromMe, remoteJid, participant, remoteJidAlt, participantAlt } = fullMessage.key
  if (fromMe || !id || !remoteJid) return undefined
  const inGroup = isGroup(remoteJid)
  const sender = inGroup ? participant : remoteJid
  if (!isNumber(sender) && !isLid(sender)) return undefined
  const alternative = inGroup ? participantAlt : remoteJidAlt
  const from = toAddress(await findNumber(context, sender, alternative))
  const addresses = [sender, alternative].filter((jid) => isNumber(jid) || isLid(jid)).map(toAddress)
  const otherIds = addresses.filter((id) => id !== from)
  const attachments = readAttachments(context, content)
  const written = readText(content) || (attachments.length > 0 ? '' : describeOther(content))
  const text = inGroup ? withoutMention(written, me) : written
  if (text.trim() === '' && attachments.length === 0) return undefined
  return {
    id,
    from: {
      id: from,
      ...(otherIds.length > 0 && { otherIds }),
      ...(fullMessage.pushName && { name: fullMessage.pushName }),
    },
    to: inGroup ? remoteJid : from,
    text,
    ...(inGroup && { group: 'group' as const, mentioned: isMentioned(content, me) }),
    ...(attachments.length > 0 && { attachments }),
    ...(await readQuotes(content, {
      me,
      addressOf: async (jid) => toAddress(await findNumber(context, jid)),
      read: (quoted) => readQuoted(context, quoted),
    })),
  }
}

/** What a quoted message says. */
function readQuoted(context: ReadContext, message: proto.IMessage) {
  const content = context.library.normalizeMessageContent(message)
  return content && { text: readText(content), attachments: readAttachments(context, content) }
}

/** WhatsApp names many senders by a LID, an id without the phone number. A message may add the number. */
async function findNumber({ repository }: ReadContext, sender: string, alternative?: string | null): Promise<string> {
  if (isNumber(sender)) return sender
  if (isNumber(alternative)) return alternative
  return (await repository.lidMapping.getPNForLID(sender)) ?? sender
}

type Media =
  | proto.Message.IImageMessage
  | proto.Message.IVideoMessage
  | proto.Message.IAudioMessage
  | proto.Message.IDocumentMessage
  | proto.Message.IStickerMessage

interface File {
  kind: 'image' | 'video' | 'audio' | 'document' | 'sticker'
  media: Media
}

function readFile(content: proto.IMessage): File | undefined {
  if (content.imageMessage) return { kind: 'image', media: content.imageMessage }
  const video = content.videoMessage ?? content.ptvMessage
  if (video) return { kind: 'video', media: video }
  if (content.audioMessage) return { kind: 'audio', media: content.audioMessage }
  if (content.documentMessage) return { kind: 'document', media: content.documentMessage }
  if (content.stickerMessage) return { kind: 'sticker', media: content.stickerMessage }
  return undefined
}

function readText(content: proto.IMessage): string {
  const media = readFile(content)?.media
  const caption = media && 'caption' in media ? media.caption : undefined
  return content.conversation || content.extendedTextMessage?.text || caption || ''
}

/** The label of a button, a place, a card; of anything else that people write, that it came. */
function describeOther(content: proto.IMessage): string {
  const place = content.locationMessage ?? content.liveLocationMessage
  if (place) return describePlace({ ...place, latitude: place.degreesLatitude, longitude: place.degreesLongitude })
  const cards = content.contactsArrayMessage?.contacts ?? (content.contactMessage ? [content.contactMessage] : [])
  if (cards.length > 0) return describeCards(cards.map(readCard))
  const { buttonsResponseMessage, listResponseMessage, templateButtonReplyMessage } = content
  const label =
    buttonsResponseMessage?.selectedDisplayText ??
    templateButtonReplyMessage?.selectedDisplayText ??
    listResponseMessage?.title
  if (label) return label
  const kind = Object.entries(content).find(([name, value]) => value && writtenKinds.has(name))?.[0]
  return kind === undefined ? '' : unreadable(kind)
}

/** What people write. Anything else is about other messages, or is of the protocol. */
const writtenKinds: ReadonlySet<string> = new Set<keyof proto.IMessage>([
  'eventMessage',
  'groupInviteMessage',
  'interactiveMessage',
  'interactiveResponseMessage',
  'invoiceMessage',
  'listMessage',
  'lottieStickerMessage',
  'orderMessage',
  'pollCreationMessage',
  'pollCreationMessageV2',
  'pollCreationMessageV3',
  'productMessage',
  'requestPhoneNumberMessage',
  'requestPaymentMessage',
  'sendPaymentMessage',
  'stickerPackMessage',
])

/** A card is a vCard, which has a line for each number. */
const readCard = ({ displayName, vcard }: proto.Message.IContactMessage): Card => ({
  name: displayName,
  phones: (vcard ?? '')
    .split(/\r?\n/)
    .filter((row) => /^(?:item\d+\.)?TEL[;:]/i.test(row))
    .flatMap((row) => row.split(':').slice(1).at(-1) ?? [])
    .filter((phone) => /^[+\d][\d ().-]*$/.test(phone)),
})

/** Whether a message mentions the account or replies to one of its messages. */
function isMentioned(content: proto.IMessage, me: ReadContext['me']): boolean {
  const { mentionedJid, participant, quotedMessage } = contextOf(content)
  const named = [...(mentionedJid ?? []), ...(quotedMessage && participant ? [participant] : [])]
  return named.some((jid) => isOfAccount(jid, me))
}

/** In the text, a mention is `@` and the number or the LID. */
function withoutMention(text: string, me: ReadContext['me']): string {
  return [me.id, ...(me.lid ? [me.lid] : [])]
    .reduce((rest, own) => rest.replaceAll(new RegExp(`@${parseJid(own).user}(?!\\d)`, 'g'), ''), text)
    .trim()
}

function readAttachments({ library, mediaHost }: ReadContext, content: proto.IMessage): Attachment[] {
  const file = readFile(content)
  if (!file) return []
  const { kind, media } = file
  const type = media.mimetype?.split(';')[0]?.trim() || 'application/octet-stream'
  const size = Number(media.fileLength ?? 0)
  const fileName = 'fileName' in media ? media.fileName : undefined
  const { mediaKey, directPath } = media
  return [
    {
      name: fileName || `${kind}.${type.split('/')[1]?.split('+')[0] || 'bin'}`,
      type,
      ...(size > 0 && { size }),
      async read(signal) {
        // The sender chooses this path. With the slash it cannot change the host.
        if (!mediaKey || !directPath?.startsWith('/')) throw new Error('the file has no address')
        return downloadMedia(library, { mediaKey, kind, url: `https://${mediaHost}${directPath}` }, signal)
      },
    },
  ]
}
