// Puts messages together that people sent as one: the files of an album, the pieces of a long text.
import type { ChannelContext, InboundMessage } from '../plugin/plugin.ts'

type Result = Awaited<ReturnType<ChannelContext['receive']>>

interface AlbumsOptions extends Pick<ChannelContext, 'receive' | 'signal'> {
  /** Without a further part for this long, the message is complete. Default: 1000. */
  quietMs?: number
  /** A message is received at the latest this long after its first part. Default: 5000. */
  atMostMs?: number
}

/**
 * Receives a part of a message. Call it for each part without waiting for the one before. All get the result of the
 * whole message, so none is confirmed to the platform before all are on disk.
 * @param album what the parts have in common, such as the platform's id of the album
 */
export type ReceivePart = (album: string, part: InboundMessage) => Promise<Result>

interface Album {
  parts: InboundMessage[]
  result: Promise<Result>
  wait(): void
}

/** Creates a receiver of messages that come in parts. */
export function createAlbums({ receive, signal, quietMs = 1000, atMostMs = 5000 }: AlbumsOptions): ReceivePart {
  const albums = new Map<string, Album>()

  function open(album: string): Album {
    const parts: InboundMessage[] = []
    const { promise: complete, resolve, reject } = Promise.withResolvers<void>()
    const latest = Date.now() + atMostMs
    let timer: NodeJS.Timeout | undefined
    const abort = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', abort, { once: true })
    const result = complete
      .finally(() => {
        clearTimeout(timer)
        signal.removeEventListener('abort', abort)
        albums.delete(album)
      })
      .then(() => receive(joinMessages(parts)))
    return {
      parts,
      result,
      wait() {
        clearTimeout(timer)
        timer = setTimeout(resolve, Math.min(quietMs, latest - Date.now()))
      },
    }
  }

  return async (name, part) => {
    signal.throwIfAborted()
    const album = albums.get(name) ?? open(name)
    albums.set(name, album)
    album.parts.push(part)
    album.wait()
    return await album.result
  }
}

/**
 * The parts as one message, which has the id, the sender and the place of the first one. Texts are joined by a line
 * break.
 */
export function joinMessages([first, ...others]: readonly InboundMessage[]): InboundMessage {
  if (!first) throw new TypeError('joinMessages: there is no message.')
  const parts = [first, ...others]
  const attachments = parts.flatMap((part) => part.attachments ?? [])
  const text = parts.map((part) => part.text).filter((one) => one.trim() !== '')
  const quoted = parts.find((part) => part.quoted)?.quoted
  return {
    ...first,
    text: text.join('\n'),
    ...(first.mentioned !== undefined && { mentioned: parts.some((part) => part.mentioned) }),
    ...(attachments.length > 0 && { attachments }),
    ...(quoted && { quoted }),
  }
}
