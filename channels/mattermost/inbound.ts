// Reads the posts of Mattermost: which are messages of people, and what the gateway gets of them.
import type { Attachment, InboundMessage } from 'svc-gateway/plugin'
import type { Api } from './api.ts'
import type { Directory } from './directory.ts'
import { isId, isPost, type Post } from './post.ts'
import { createQuotes } from './quotes.ts'

interface FileInfo {
  id: string
  name?: unknown
  mime_type?: unknown
  size?: unknown
}

interface ReaderDeps {
  api: Api
  directory: Pick<Directory, 'personOf' | 'typeOf' | 'rootOf'>
  self: { id: string; username: string }
}

/** Returns a function that makes a message of a post, or undefined if it is not a message of a person. */
export function createReader({ api, directory, self }: ReaderDeps) {
  const readFiles = async (post: Post): Promise<Attachment[]> =>
    (await filesOf(api, post)).map((file) => toAttachment(api, file))
  const quotes = createQuotes({ directory, self, readFiles })
  // A name may contain dots, and a sentence may end with one.
  const mention = new RegExp(String.raw`(?<![\w@.-])@${RegExp.escape(self.username)}(?!\.?[\w-])[ \t]*`, 'gi')

  return async (post: Post): Promise<InboundMessage | undefined> => {
    if (post.user_id === self.id || post.type || post.delete_at || isAutomatic(post)) return undefined
    const { name, isBot } = await directory.personOf(post.user_id)
    if (isBot) return undefined
    const raw = typeof post.message === 'string' ? post.message : ''
    const text = raw.replace(mention, '')
    const threadId = isId(post.root_id) ? post.root_id : undefined
    const root = threadId === undefined ? undefined : await directory.rootOf(threadId)
    const group = groups[await directory.typeOf(post.channel_id)]
    const isReply = isPost(root) && root.user_id === self.id
    return {
      id: post.id,
      from: { id: post.user_id, ...(name !== undefined && { name }) },
      to: post.channel_id,
      ...(threadId !== undefined && { threadId, quoted: isPost(root) ? await quotes.quote(root) : { id: threadId } }),
      ...(await quotes.readShare({ text: text.trim(), attachments: await readFiles(post) }, post)),
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
