// Receives messages of a linked device: each is on disk before its key is used up and WhatsApp gets a receipt.
import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout as delay } from 'node:timers/promises'
import type { BinaryNode, SignalAuthState, SignalKeyStoreWithTransaction, WASocket } from 'baileys'
import type { ChannelContext, InboundMessage } from 'svc-gateway/plugin'
import type { Config } from './config.ts'
import type { Credentials } from './credentials.ts'
import type { Library } from './library.ts'
import { readMessage } from './message.ts'
import type { Repository } from './send.ts'

interface ReceiverOptions {
  library: Library
  config: Config
  credentials: Credentials
  context: ChannelContext
  signal: AbortSignal
}

/** Wait before a message that could not be stored is handed over again. */
const retryMs = 1_000

export function createReceiver({ library, config, credentials, context, signal }: ReceiverOptions) {
  /** The message that a ciphertext came in; the library decrypts without saying which one it is. */
  const stanzas = new WeakMap<Uint8Array, BinaryNode>()
  // The library finds its transaction by the asynchronous context. What the gateway starts while it stores a message,
  // such as a reply, must not become a piece of that transaction.
  const outsideTransaction = AsyncLocalStorage.snapshot()

  async function receive(repository: Repository, ciphertext: Uint8Array, plaintext: Uint8Array): Promise<void> {
    const stanza = stanzas.get(ciphertext)
    const { me } = credentials.auth.creds
    if (!stanza || !me) return
    const mediaHost = config.mediaHost ?? 'mmg.whatsapp.net'
    try {
      const message = await readMessage({ library, repository, me, mediaHost }, stanza, plaintext)
      if (message) await outsideTransaction(() => storeMessage(message))
    } catch (error) {
      signal.throwIfAborted()
      context.log.debug({ reason: (error as Error).name }, 'a message that cannot be read was ignored')
    }
  }

  /** The platform keeps what gets no receipt, so this waits as long as it takes. Rejects when the connection ends. */
  async function storeMessage(message: InboundMessage): Promise<void> {
    for (;;) {
      signal.throwIfAborted()
      try {
        await context.receive(message)
        return
      } catch (error) {
        context.log.warn({ err: error }, 'a message could not be stored; it is tried again')
        await delay(retryMs, undefined, { signal })
      }
    }
  }

  return {
    listen(socket: WASocket): void {
      socket.ws.prependListener('CB:message', (stanza: BinaryNode) => {
        for (const { content } of Array.isArray(stanza.content) ? stanza.content : [])
          if (content instanceof Uint8Array) stanzas.set(content, stanza)
      })
    },
    /**
     * Makes storing a message part of the transaction that decrypts it. A message whose key is used up cannot be
     * decrypted again, so the key must remain until the message is on disk.
     */
    storeBeforeCommit(repository: Repository, auth: SignalAuthState): Repository {
      const keys = auth.keys as SignalKeyStoreWithTransaction
      return {
        ...repository,
        decryptMessage: (message) =>
          keys.transaction(async () => {
            const plaintext = await repository.decryptMessage(message)
            await receive(repository, message.ciphertext, plaintext)
            return plaintext
          }, message.jid),
        decryptGroupMessage: (message) =>
          keys.transaction(async () => {
            const plaintext = await repository.decryptGroupMessage(message)
            await receive(repository, message.msg, plaintext)
            return plaintext
          }, message.group),
      }
    },
  }
}
