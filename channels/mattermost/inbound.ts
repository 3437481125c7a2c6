// Reads the posts of Mattermost: which are messages of people, and what the gateway gets of them.
import type { Attachment, InboundMessage } from 'svc-gateway/plugin'
import type { Api } from './api.ts'
import type { Directory } from './directory.ts'

/** A post as events and the REST API contain it; only what is read here. */
export interface Post {
  id: string
  channel_id: string
  user_id: string
  create_at: number
  message?: unknown
  root_id?: unknown
  type?: unknown
  delete_at?: unknown
  props?: Record<string, unknown> | null
  file_ids?: unknown
  metadata?: { files?: unknown } | null
}

interface FileInfo {
  id: string
  name?: unknown
  mime_type?: unknown
  size?: unknown
}

interface ReaderDeps {
  api: Api
  directory: Pick<Directory, 'personOf' | 'typeOf' | 'authorOf'>
  self: { id: string; username: string }
}

const isId = (value: unknown): value is string => typeof value === 'string' && /^[a-z0-9]{26}$/.test(value)

export function isPost(value: unknown): value is Post {
  if (typeof value !== 'object' || value === null) return false
  const { id, channel_id: channel, user_id: user, create_at: at } = value as Record<string, unknown>
  return [id, channel, user].every(isId) && Number.isSafeInteger(at)
}

/** Returns a function that makes a message of a post, or undefined if it is not a message of a person. */
export function createReader({ api, directory, self }: ReaderDeps) {
  // A name may contain dots, and a sentence may end with one.
  const mention = new RegExp(String.raw`(?<![\w@.-])@${RegExp.escape(self.username)}(?!\.?[\w-])[ \t]*`, 'gi')

  return async (post: Post): Promise<InboundMessage | undefined> => {
    if (post.user_id === self.id || post.type || post.delete_at || isAutomatic(post)) return undefined
    const { name, isBot } = await directory.personOf(post.user_id)
    if (isBot) return undefined
    const raw = typeof post.message === 'string' ? post.message : ''
    const text = raw.replace(mention, '')
    const root = isId(post.root_id) ? post.root_id : undefined
    const group = groups[await directory.typeOf(post.channel_id)]
    const isReply = group !== undefined && root !== undefined && (await directory.authorOf(root)) === self.id
    return {
      id: post.id,
      from: { id: post.user_id, ...(name !== undefined && { name }) },
      to: post.channel_id,
      text: text.trim(),
      attachments: (await filesOf(api, post)).map((file) => toAttachment(api, file)),
      ...(root !== undefined && { threadId: root }),
      ...(group && { group, mentioned: text !== raw || isReply }),
    }
  }
}

const groups: Readonly<Record<string, InboundMessage['group']>> = { O: 'channel', P: 'channel', G: 'group' }

/** The server marks the posts of bots, webhooks and plugins. */
const isAutomatic = ({ props }: Post): boolean =>
  ['from_bot', 'from_webhook', 'from_plugin'].some((name) => props?.[name] === 'true' || props?.[name] === true)

/** Events describe the files of a post; other answers may contain only their ids. */
async function filesOf(api: Api, { id, file_ids: ids, metadata }: Post): Promise<FileInfo[]> {
  if (!Array.isArray(ids) || ids.length === 0) return []
  const files: unknown = metadata?.files ?? (await api.get(`posts/${id}/files/info`))
  return Array.isArray(files) ? files.filter((file) => isId((file as FileInfo | null)?.id)) : []
}

function toAttachment(api: Api, { id, name, mime_type: type, size }: FileInfo): Attachment {
  return {
    name: typeof name === 'string' ? name : 'file',
    type: typeof type === 'string' && type !== '' ? type : 'application/octet-stream',
    ...(typeof size === 'number' && { size }),
    read: (signal) => api.download(`files/${id}`, signal),
  }
}
