// Puts the files of an album together. Each is a message of its own, and the library handles one message at a time: while
// the first waits to be stored, the others wait behind it. So this decrypts them in advance, with their keys unused.
import type { BinaryNode } from 'baileys'
import { joinMessages, keepLatest } from 'svc-gateway/kit'
import type { ChannelContext, InboundMessage } from 'svc-gateway/plugin'
import type { Library } from './library.ts'
import type { Sessions } from './sessions.ts'

/** A message that has come and that the library has not handled yet. */
export interface Encrypted {
  stanza: BinaryNode
  type: string | undefined
}

export interface ReadMessage {
  message: InboundMessage | undefined
  /** The id of the album that the message belongs to. */
  album: string | undefined
  /** The message announces an album with so many files. */
  announced: number | undefined
}

interface AlbumsOptions {
  context: Pick<ChannelContext, 'receive' | 'state'>
  signal: AbortSignal
  read(sessions: Sessions, stanza: BinaryNode, plaintext: Uint8Array): Promise<ReadMessage | undefined>
  decrypt(sessions: Sessions, encrypted: Encrypted, ciphertext: Uint8Array): Promise<Uint8Array>
}

/** An album that is being put together. */
interface Open {
  stanza: BinaryNode
  include(ciphertext: Uint8Array, encrypted: Encrypted): Promise<void>
}

/** Without a further file for this long, the album is complete. */
const quietMs = 1000
const atMostMs = 5000
/** All other messages wait meanwhile, so whoever left an album incomplete is not waited for again for a while. */
const hurriedMs = 100
const forgiveMs = 10 * 60_000
/** Of so many messages, what has come is known. The rest of an album becomes a message of its own. */
const mostWaiting = 500
const partsKey = 'album-parts'
const mostParts = 200

export function createAlbums({ context, signal, read, decrypt }: AlbumsOptions) {
  const waiting = new Map<Uint8Array, Encrypted>()
  const included = new WeakSet<Uint8Array>()
  /** How many files an album has, by its id. */
  const sizes = new Map<string, number>()
  /** When somebody left an album incomplete, by their id. */
  const incomplete = new Map<string, number>()
  let open: Open | undefined

  function add(ciphertext: Uint8Array, encrypted: Encrypted): void {
    waiting.set(ciphertext, encrypted)
    const [oldest] = waiting.keys()
    if (waiting.size > mostWaiting && oldest) waiting.delete(oldest)
    void include(ciphertext, encrypted)
  }

  async function include(ciphertext: Uint8Array, encrypted: Encrypted): Promise<void> {
    if (open && isSamePlace(encrypted.stanza, open.stanza)) await open.include(ciphertext, encrypted)
  }

  interface Part {
    album: string
    message: InboundMessage
    stanza: BinaryNode
    sessions: Sessions
  }

  /** Resolves with all parts that have come in time. */
  async function collect({ album, message, stanza, sessions }: Part): Promise<InboundMessage[]> {
    const parts = [message]
    const author = stanza.attrs.participant ?? stanza.attrs.from ?? ''
    const isHurried = (incomplete.get(author) ?? 0) > Date.now() - forgiveMs
    const wait = startWait(signal, isHurried ? hurriedMs : quietMs)
    const mine: Open = {
      stanza,
      async include(ciphertext, encrypted) {
        const found = await readInAdvance(sessions, ciphertext, encrypted)
        if (found?.album !== album || !found.message || open !== mine || included.has(ciphertext)) return
        included.add(ciphertext)
        parts.push(found.message)
        wait.goOn()
        if (parts.length === sizes.get(album)) wait.end()
      },
    }
    open = mine
    for (const [ciphertext, encrypted] of waiting) void include(ciphertext, encrypted)
    await wait.ended.finally(() => (open = undefined))
    if (parts.length !== sizes.get(album)) keepLatest(incomplete, [author, Date.now()])
    return parts
  }

  /** What fails here is handled by the library when its turn comes. */
  const readInAdvance = async (sessions: Sessions, ciphertext: Uint8Array, encrypted: Encrypted) =>
    await decrypt(sessions, encrypted, ciphertext)
      .then((plaintext) => read(sessions, encrypted.stanza, plaintext))
      .catch(() => undefined)

  /** After a crash, parts of an album that is stored may come again without the others. */
  async function receiveAlbum(part: Part): Promise<void> {
    const stored = await context.state.get(partsKey)
    const known = Array.isArray(stored) ? stored : []
    if (known.includes(part.message.id)) return
    const parts = await collect(part)
    const ids = parts.map(({ id }) => id).toSorted()
    // The same whichever comes first.
    const [id = part.message.id] = ids
    await context.receive({ ...joinMessages(parts), id })
    if (ids.length > 1) await context.state.set(partsKey, [...known, ...ids].slice(-mostParts))
  }

  return {
    add,
    async receive(sessions: Sessions, ciphertext: Uint8Array, given: { stanza: BinaryNode; plaintext: Uint8Array }) {
      waiting.delete(ciphertext)
      // The album that it belongs to is on disk.
      if (included.has(ciphertext)) return
      const { stanza, plaintext } = given
      const { message, album, announced } = (await read(sessions, stanza, plaintext)) ?? {}
      if (announced !== undefined && stanza.attrs.id) keepLatest(sizes, [stanza.attrs.id, announced])
      // The platform keeps what gets no receipt, so this waits as long as it takes.
      if (message && album !== undefined) await receiveAlbum({ album, message, stanza, sessions })
      else if (message) await context.receive(message)
    },
  }
}

/** Waits for more until nothing has come for a while. Rejects when the signal aborts. */
function startWait(signal: AbortSignal, waitMs: number) {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  const abort = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  const limit = setTimeout(resolve, atMostMs)
  let quiet = setTimeout(resolve, waitMs)
  return {
    goOn(): void {
      clearTimeout(quiet)
      quiet = setTimeout(resolve, waitMs)
    },
    end: resolve,
    ended: promise.finally(() => {
      clearTimeout(limit)
      clearTimeout(quiet)
      signal.removeEventListener('abort', abort)
    }),
  }
}

/** Whether one person wrote both in one conversation. */
const isSamePlace = ({ attrs: one }: BinaryNode, { attrs: other }: BinaryNode): boolean =>
  one.from === other.from && one.participant === other.participant

/** Decrypts a message as the library would, and leaves its key unused. */
export async function decryptInAdvance(
  { library, me }: { library: Library; me: { id: string; lid?: string } },
  sessions: Sessions,
  { encrypted: { stanza, type }, ciphertext }: { encrypted: Encrypted; ciphertext: Uint8Array },
): Promise<Uint8Array> {
  const { author, sender } = library.decodeMessageNode(stanza, me.id, me.lid ?? '')
  if (type === 'skmsg') return await sessions.previewGroupMessage({ group: sender, authorJid: author, msg: ciphertext })
  if (type !== 'pkmsg' && type !== 'msg') throw new Error('the message is of another kind')
  return await sessions.previewMessage({ jid: await library.getDecryptionJid(author, sessions), type, ciphertext })
}
