// Stores the files that come with a message in the workspace of the agent, and describes them to the agent.
import { createHash } from 'node:crypto'
import { extname, posix } from 'node:path'
import { describeError } from '../../errors.ts'
import type { Attachment, InboundMessage, Log } from '../../plugin/plugin.ts'
import { TooLargeError } from '../../kit/read-bytes.ts'
import { type Downloads, maxAttachmentBytes } from './downloads.ts'

export interface Attachments {
  /** Returns the text of the message, with a line for each file. */
  describe(message: Pick<InboundMessage, 'text' | 'attachments'>, context: AttachmentContext): Promise<string>
}

interface AttachmentContext {
  agentId: string
  /** Identifies the message. The files of a repeated message replace those that were stored before. */
  key: string
  at: number
  /** True: a stranger has sent them. */
  isExternal?: boolean
  /** Fields for the log. */
  source: object
}

interface AttachmentsDeps {
  /** Writes a file inside the workspace of an agent. */
  saveFile(agentId: string, path: string, data: Uint8Array): Promise<void>
  downloads: Downloads
  log: Log
}

/** Most files of one message that are stored. */
const maxAttachments = 10

/** What strangers send has a folder of its own, so that whoever reads it there is known to read external content. */
const strangersFolder = 'inbox/strangers'

/** Whether a path in a workspace leads to a file that a stranger has sent. Some file systems ignore upper case. */
export const isFileOfStranger = (path: string): boolean =>
  `${posix.normalize(path.replaceAll('\\', '/')).toLowerCase()}/`.startsWith(`${strangersFolder}/`)

export function createAttachments({ saveFile, downloads, log }: AttachmentsDeps): Attachments {
  /** What was said about each file, because a message that could not be stored is described again. */
  const described = new WeakMap<Attachment, string>()

  async function storeOnce(file: Attachment, index: number, context: AttachmentContext): Promise<string> {
    const result = described.get(file) ?? (await store(file, index, context))
    described.set(file, result)
    return result
  }

  /** Says where the file is, or why it was not stored. Nothing that goes wrong with a file loses the message. */
  async function store(file: Attachment, index: number, context: AttachmentContext): Promise<string> {
    if (index >= maxAttachments) return `not stored, because only the first ${maxAttachments} files of a message are`
    if (!file.read) return 'not stored, because the channel does not download files'
    if ((file.size ?? 0) > maxAttachmentBytes) return tooLarge
    try {
      const data = await downloads.download(file.read)
      const path = pathOf(file, index, context)
      await saveFile(context.agentId, path, data)
      return `stored in your workspace as ${path} (${formatBytes(data.byteLength)})`
    } catch (error) {
      if (error instanceof TooLargeError) return tooLarge
      log.warn({ ...context.source, ...describeError(error) }, 'an attachment could not be stored')
      return 'not stored, because it could not be downloaded'
    }
  }

  return {
    describe: async ({ text, attachments = [] }, context) => {
      const results = await Promise.all(attachments.map((file, index) => storeOnce(file, index, context)))
      const lines = attachments.map((file, index) => `[Attached file: ${describeFile(file)}; ${results[index]}]`)
      return [text, lines.join('\n')].filter((part) => part.trim() !== '').join('\n\n')
    },
  }
}

const tooLarge = `not stored, because it is larger than ${formatBytes(maxAttachmentBytes)}`

/** The sender chooses the name and the platform the type, so neither may look like anything else in the prompt. */
function describeFile({ name, type, size }: Attachment): string {
  const safeType = /^[\w.+-]{1,60}\/[\w.+-]{1,60}$/.test(type) ? type : 'unknown type'
  return [safeName(name), safeType, size === undefined ? 'unknown size' : formatBytes(size)].join(', ')
}

function pathOf({ name }: Attachment, index: number, { key, at, isExternal }: AttachmentContext): string {
  const safe = safeName(name)
  const extension = extname(safe)
  const id = createHash('sha256').update(`${key}\n${index}`).digest('hex').slice(0, 8)
  const day = new Date(at).toISOString().slice(0, 10)
  const folder = isExternal ? strangersFolder : 'inbox'
  return `${folder}/${day}/${safe.slice(0, safe.length - extension.length)}-${id}${extension}`
}

/** Letters, digits, dots, dashes and underscores; at most 60 characters, which is less than any file system's limit. */
function safeName(name: string): string {
  const plain = name
    .normalize('NFC')
    .replace(/^.*[/\\]/s, '')
    .replaceAll(/[^\p{L}\p{N}._-]+/gu, '-')
    .replaceAll(/\.{2,}/g, '.')
    .replaceAll(/-{2,}/g, '-')
    .replaceAll(/^[.-]+|-(?=\.|$)/g, '')
  const characters = [...plain]
  const [stem, extension] = [characters.slice(0, 48), [...extname(plain)].slice(0, 12)]
  return (characters.length <= 60 ? plain : stem.join('') + extension.join('')) || 'file'
}

function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`
}
