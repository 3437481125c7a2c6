// Reads the bytes of a download whole, up to a limit.
import type { ByteSource } from '../plugin/channel.ts'

/** There are more bytes than were allowed. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError'
}

/**
 * Counts the bytes as they arrive, and ends the download with a `TooLargeError` as soon as there are more than
 * `maxBytes`. Rejects if the source is an answer with an error status, and when `signal` aborts.
 */
export async function readBytes(source: ByteSource, maxBytes: number, signal?: AbortSignal): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of chunksOf(source)) {
    signal?.throwIfAborted()
    if (!(chunk instanceof Uint8Array)) throw new TypeError('a download must give its bytes in chunks of Uint8Array')
    length += chunk.byteLength
    if (length > maxBytes) throw new TooLargeError(`There are more than ${maxBytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** An answer is known by its members, because a library may bring a `Response` of its own. */
function chunksOf(source: ByteSource): AsyncIterable<unknown> | Iterable<unknown> {
  if (!('ok' in source)) return source
  if (source.ok) return source.body ?? []
  void source.body?.cancel().catch(() => undefined)
  throw new Error(`The platform answered ${source.status} instead of the file.`)
}
