// Receives messages of a linked device: each is on disk before its key is used up and WhatsApp gets a receipt.
import type { BinaryNode, WASocket } from 'baileys'
import type { ChannelContext } from 'svc-gateway/plugin'
import { type Encrypted, createAlbums, decryptInAdvance } from './albums.ts'
import type { Config } from './config.ts'
import type { Credentials } from './credentials.ts'
import type { Library } from './library.ts'
import { readMessage } from './message.ts'
import type { Repository } from './send.ts'
import type { Sessions } from './sessions.ts'

interface ReceiverOptions {
  library: Library
  config: Config
  credentials: Credentials
  context: ChannelContext
  signal: AbortSignal
}

export function createReceiver({ library, config, credentials, context, signal }: ReceiverOptions) {
  /** The message that a ciphertext came in; the library decrypts without saying which one it is. */
  const stanzas = new WeakMap<Uint8Array, BinaryNode>()
  const albums = createAlbums({ context, signal, read, decrypt })

  async function read(repository: Repository, stanza: BinaryNode, plaintext: Uint8Array) {
    const { me } = credentials.auth.creds
    if (!me) return undefined
    const mediaHost = config.mediaHost ?? 'mmg.whatsapp.net'
    return await readMessage({ library, repository, me, mediaHost }, stanza, plaintext).catch((error: unknown) => {
      signal.throwIfAborted()
      context.log.warn({ reason: (error as Error).name }, 'a message that cannot be read was ignored')
      return undefined
    })
  }

  async function decrypt(sessions: Sessions, encrypted: Encrypted, ciphertext: Uint8Array): Promise<Uint8Array> {
    const { me } = credentials.auth.creds
    if (!me) throw new Error('the device is not linked')
    return await decryptInAdvance({ library, me }, sessions, { encrypted, ciphertext })
  }

  async function receive(sessions: Sessions, ciphertext: Uint8Array, plaintext: Uint8Array): Promise<void> {
    const stanza = stanzas.get(ciphertext)
    if (stanza) await albums.receive(sessions, ciphertext, { stanza, plaintext })
  }

  return {
    listen(socket: WASocket): void {
      socket.ws.prependListener('CB:message', (stanza: BinaryNode) => {
        for (const { attrs, content } of Array.isArray(stanza.content) ? stanza.content : []) {
          if (!(content instanceof Uint8Array)) continue
          stanzas.set(content, stanza)
          albums.add(content, { stanza, type: attrs.type })
        }
      })
    },
    /**
     * Stores a message before its key is used up, because it cannot be decrypted again afterwards. The keys of its
     * sender are not locked meanwhile: a file in it may take a minute.
     */
    storeBeforeDecrypting: (sessions: Sessions): Repository => ({
      ...sessions,
      async decryptMessage(message) {
        await receive(sessions, message.ciphertext, await sessions.previewMessage(message))
        return await sessions.decryptMessage(message)
      },
      async decryptGroupMessage(message) {
        await receive(sessions, message.msg, await sessions.previewGroupMessage(message))
        return await sessions.decryptGroupMessage(message)
      },
    }),
  }
}
