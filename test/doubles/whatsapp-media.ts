// The file server in the double of WhatsApp: it keeps encrypted files, whose keys travel in messages.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { getMediaKeys, type MediaType } from 'baileys'
import { sendContent } from './file-content.ts'
import { cert, key } from './whatsapp-certificate.ts'

export type MediaServer = Awaited<ReturnType<typeof openMediaServer>>

/** From now on, this process trusts the certificate of the server. */
export async function openMediaServer() {
  setDefaultCACertificates([...getCACertificates('default'), cert])
  const files = new Map<string, Buffer | (() => Readable)>()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? '/', 'https://127.0.0.1')
    if (request.method === 'POST') {
      files.set(pathname, await buffer(request))
      return response.end(JSON.stringify({ url: `https://${host}${pathname}`, direct_path: pathname }))
    }
    const file = files.get(pathname)
    return file ? sendContent(response, file) : response.writeHead(404).end()
  }
  const server = createServer({ key, cert }, (request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    host,
    /** Stores a file as a phone does. @returns the fields of the message that names it */
    async put(content: Uint8Array | (() => Readable), type: MediaType) {
      const mediaKey = randomBytes(32)
      const keys = await getMediaKeys(mediaKey, type)
      const directPath = `/files/${files.size}`
      const isStream = typeof content === 'function'
      const data = isStream ? () => Readable.from(encrypt(content(), keys)) : await buffer(encrypt([content], keys))
      files.set(directPath, data)
      const fileLength = isStream ? 5 : content.length
      return { mediaKey, directPath, url: `https://${host}${directPath}`, fileLength }
    },
    /** Reads a file as the recipient of a message does. */
    async read(path: string, mediaKey: Uint8Array, type: MediaType): Promise<Buffer> {
      const { cipherKey, iv } = await getMediaKeys(mediaKey, type)
      const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv)
      return Buffer.concat([decipher.update((files.get(path) as Buffer).subarray(0, -10)), decipher.final()])
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type MediaKeys = Awaited<ReturnType<typeof getMediaKeys>>

/** The encrypted bytes, and the beginning of their checksum. */
async function* encrypt(content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>, keys: MediaKeys) {
  const cipher = createCipheriv('aes-256-cbc', keys.cipherKey, keys.iv)
  const hmac = createHmac('sha256', keys.macKey!).update(keys.iv)
  const seal = (encrypted: Buffer) => {
    hmac.update(encrypted)
    return encrypted
  }
  for await (const chunk of content) yield seal(cipher.update(chunk))
  yield seal(cipher.final())
  yield hmac.digest().subarray(0, 10)
}
