// The file server in the double of WhatsApp: it keeps encrypted files, whose keys travel in messages.
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { getMediaKeys, type MediaType } from 'baileys'
import { cert, key } from './whatsapp-certificate.ts'

export type MediaServer = Awaited<ReturnType<typeof openMediaServer>>

/** From now on, this process trusts the certificate of the server. */
export async function openMediaServer() {
  setDefaultCACertificates([...getCACertificates('default'), cert])
  const files = new Map<string, Buffer>()
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? '/', 'https://127.0.0.1')
    if (request.method === 'POST') {
      files.set(pathname, await buffer(request))
      return response.end(JSON.stringify({ url: `https://${host}${pathname}`, direct_path: pathname }))
    }
    const file = files.get(pathname)
    return file ? response.end(file) : response.writeHead(404).end()
  }
  const server = createServer({ key, cert }, (request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`

  return {
    host,
    /** Stores a file as a phone does. @returns the fields of the message that names it */
    async put(data: Uint8Array, type: MediaType) {
      const mediaKey = randomBytes(32)
      const { cipherKey, iv, macKey } = await getMediaKeys(mediaKey, type)
      const cipher = createCipheriv('aes-256-cbc', cipherKey, iv)
      const encrypted = Buffer.concat([cipher.update(data), cipher.final()])
      const mac = createHmac('sha256', macKey!).update(iv).update(encrypted).digest().subarray(0, 10)
      const directPath = `/files/${files.size}`
      files.set(directPath, Buffer.concat([encrypted, mac]))
      return { mediaKey, directPath, url: `https://${host}${directPath}`, fileLength: data.length }
    },
    /** Reads a file as the recipient of a message does. */
    async read(path: string, mediaKey: Uint8Array, type: MediaType): Promise<Buffer> {
      const { cipherKey, iv } = await getMediaKeys(mediaKey, type)
      const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv)
      return Buffer.concat([decipher.update(files.get(path)!.subarray(0, -10)), decipher.final()])
    },
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
