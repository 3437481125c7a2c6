// Remembers what was sent, because a phone that could not decrypt a message asks for it again, perhaps days later.
import { createSerialQueue } from 'svc-gateway/kit'
import type { ExtensionState } from 'svc-gateway/plugin'

export interface SentMessage {
  /** The JID that it was sent to. */
  to: string
  /** As the platform encodes it. */
  data: Uint8Array
}

const indexKey = 'sent'
const recordKey = (id: string): string => `sent:${id}`

export const mostMessages = 500
/** WhatsApp asks for nothing that is older. */
export const longestMs = 14 * 24 * 3_600_000
/** A text of the longest length takes a quarter of this; of a file, only its keys and its caption are in the message. */
const mostBytes = 64 * 1024

type Entry = readonly [id: string, at: number]

export function createSentMessages(state: ExtensionState) {
  const writes = createSerialQueue()
  let entries: Promise<readonly Entry[]> | undefined

  /** The index first: it may list what is not there, but every record is listed. */
  async function write(id: string, { to, data }: SentMessage): Promise<void> {
    const now = Date.now()
    const before = await (entries ??= readIndex(state))
    const others = before.filter(([other]) => other !== id)
    const kept = others.filter(([, at]) => at > now - longestMs).slice(1 - mostMessages)
    const dropped = others.filter((entry) => !kept.includes(entry))
    const after: readonly Entry[] = [...kept, [id, now]]
    entries = Promise.resolve(after)
    await state.set(indexKey, after)
    await state.set(recordKey(id), { to, data: Buffer.from(data).toString('base64') })
    await Promise.all(dropped.map(([other]) => state.delete(recordKey(other))))
  }

  return {
    async keep(id: string, message: SentMessage): Promise<void> {
      if (message.data.length <= mostBytes) await writes.add(() => write(id, message))
    },
    async find(id: string): Promise<SentMessage | undefined> {
      const listed = (await (entries ??= readIndex(state))).find(([other]) => other === id)
      if (!listed || listed[1] <= Date.now() - longestMs) return undefined
      const record = (await state.get(recordKey(id))) as { to: string; data: string } | undefined
      return record && { to: record.to, data: Buffer.from(record.data, 'base64') }
    },
  }
}

export async function wipeSentMessages(state: ExtensionState): Promise<void> {
  await Promise.all((await readIndex(state)).map(([id]) => state.delete(recordKey(id))))
  await state.delete(indexKey)
}

async function readIndex(state: ExtensionState): Promise<readonly Entry[]> {
  const index = await state.get(indexKey)
  return Array.isArray(index) ? index : []
}
