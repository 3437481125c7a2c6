// Downloads the files of a linked device, and decrypts them as they arrive.
import { createDecipheriv, createHmac, type Hmac } from 'node:crypto'
import type { MediaType } from 'baileys'
import { fetchFile } from 'svc-gateway/kit'
import type { Library } from './library.ts'

interface MediaFile {
  mediaKey: Uint8Array
  kind: MediaType
  url: string
}

/**
 * The library's own download heeds no signal. When its connection breaks, it ends the process, and when nobody reads
 * on, it stays open.
 */
export async function* downloadMedia(
  library: Library,
  { mediaKey, kind, url }: MediaFile,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const { cipherKey, iv, macKey } = await library.getMediaKeys(mediaKey, kind)
  if (!macKey) throw new Error('the file has no key')
  const { host } = new URL(url)
  const headers = { origin: library.DEFAULT_ORIGIN }
  const response = await fetchFile(url, { isOwn: (address) => address.host === host, headers, signal })
  if (!response.ok || !response.body) throw new Error(`WhatsApp answered ${response.status} instead of the file`)
  const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv)
  for await (const encrypted of verify(response.body, createHmac('sha256', macKey).update(iv)))
    yield decipher.update(encrypted)
  yield decipher.final()
}

/** The first bytes of a checksum of everything before follow at the end of a file. */
const checksumBytes = 10

/** Returns the data without the checksum. Throws at its end if the checksum is wrong. */
async function* verify(body: AsyncIterable<Uint8Array>, hmac: Hmac): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array()
  for await (const chunk of body) {
    const bytes = Buffer.concat([rest, chunk])
    const end = Math.max(0, bytes.length - checksumBytes)
    rest = bytes.subarray(end)
    hmac.update(bytes.subarray(0, end))
    yield bytes.subarray(0, end)
  }
  if (!hmac.digest().subarray(0, checksumBytes).equals(rest)) throw new Error('the checksum of the file is wrong')
}
