// What the file server of a double answers: a text or bytes, or a stream that is made for each download.
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

export type FileContent = string | Uint8Array | (() => Readable)

/** Ends the answer abruptly if the stream fails, and the stream if nobody reads the answer any more. */
export function sendContent(response: Writable, content: FileContent): void {
  if (typeof content === 'function') pipeline(content(), response).catch(() => undefined)
  else response.end(content)
}
