// What the file server of a double answers: a text or bytes, or a stream that is made for each download.
import type { Readable, Writable } from 'node:stream'
import type { ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'

export type FileContent = string | Uint8Array | (() => Readable)

/** Ends the answer abruptly if the stream fails, and the stream if nobody reads the answer any more. */
export function sendContent(response: Writable, content: FileContent): void {
  if (typeof content === 'function') pipeline(content(), response).catch(() => undefined)
  else response.end(content)
}

/** Answers the next download with a redirect, if one is set: to its own address, or to that of another host. */
export function createRedirects() {
  let next: { address: string | undefined } | undefined
  return {
    redirectNextDownload: (address?: string): void => void (next = { address }),
    /** @returns whether it has answered */
    answer(url: string | undefined, response: ServerResponse): boolean {
      const redirect = next
      next = undefined
      if (redirect) response.writeHead(302, { location: redirect.address ?? url }).end()
      return redirect !== undefined
    },
  }
}
