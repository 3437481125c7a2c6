// The files of an activity: those that a person attaches, pictures in the text, and those that Teams withholds.
import type { Attachment } from 'svc-gateway/plugin'
import { fetchFile, fieldsOf, mediaTypeOf, textOf } from 'svc-gateway/kit'
import type { Tokens } from './tokens.ts'
import type { Trust } from './trust.ts'

interface AttachmentDeps {
  tokens: Tokens
  trust: Trust
  isInGroup: boolean
}

type Fields = Readonly<Record<string, unknown>>

const downloadType = 'application/vnd.microsoft.teams.file.download.info'

/** A request of Teams waits for it. */
const lookUpMs = 2000

export async function readAttachments(all: readonly Fields[], deps: AttachmentDeps): Promise<Attachment[]> {
  const read = await Promise.all(
    all.map(async (attachment) => {
      const { contentType } = attachment
      if (contentType === downloadType) return [readFile(attachment, deps)]
      if (contentType === 'text/html') return deps.isInGroup ? findWithheld(attachment) : []
      return textOf(contentType)?.startsWith('image/') ? await readPicture(attachment, deps) : []
    }),
  )
  return read.flat()
}

/** Files have an address of their own that needs no token. */
function readFile({ content, name }: Fields, { trust }: AttachmentDeps): Attachment {
  const { downloadUrl, fileType } = fieldsOf(content)
  const [fileName, extension] = [textOf(name) ?? 'file', textOf(fileType)]
  const file = { name: fileName, type: mediaTypeOf(extension === undefined ? fileName : `file.${extension}`) }
  if (!trust.isFileUrl(downloadUrl)) return file
  return { ...file, read: (signal) => fetchFile(downloadUrl, { isOwn: ({ href }) => trust.isFileUrl(href), signal }) }
}

/** Pictures in the text need the token of the bot. */
async function readPicture({ contentType, contentUrl, name }: Fields, deps: AttachmentDeps): Promise<Attachment[]> {
  const { tokens, trust } = deps
  if (!trust.isServiceUrl(contentUrl)) return [{ name: textOf(name) ?? 'picture', type: String(contentType) }]
  const type = contentType === 'image/*' ? await findType(contentUrl, tokens) : String(contentType)
  const extension = /^image\/([a-z]+)$/.exec(type)?.[1]
  return [
    {
      name: textOf(name) ?? (extension === undefined ? 'picture' : `picture.${extension}`),
      type,
      read: async (signal) => {
        const headers = { authorization: `Bearer ${await tokens.get()}` }
        return await fetchFile(contentUrl, { isOwn: ({ href }) => trust.isServiceUrl(href), headers, signal })
      },
    },
  ]
}

/** Asks the service what the picture is. Without an answer, it stays `image/*`. */
async function findType(contentUrl: string, tokens: Tokens): Promise<string> {
  try {
    const response = await fetch(contentUrl.replace(/\/views\/[^/]+$/, ''), {
      headers: { authorization: `Bearer ${await tokens.get()}` },
      redirect: 'error',
      signal: AbortSignal.timeout(lookUpMs),
    })
    const { type } = fieldsOf(response.ok ? await response.json() : await response.body?.cancel())
    return textOf(type) ?? 'image/*'
  } catch {
    return 'image/*'
  }
}

/**
 * Outside of personal chats, a bot gets no files. In a channel, the text as HTML has the id of each, a UUID (numbers are
 * quoted messages), or is blank if there is only a file. In a group chat there may be no sign at all.
 */
function findWithheld({ content }: Fields): Attachment[] {
  if (typeof content !== 'string') return []
  const count = content === '' ? 1 : [...content.matchAll(/<attachment id="[\da-f]{8}-[\da-f-]{27}"/gi)].length
  return Array.from({ length: count }, () => ({ name: 'file', type: 'application/vnd.microsoft.teams.file.withheld' }))
}
