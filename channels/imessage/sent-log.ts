// Remembers how the last messages were sent, so that the gateway learns after a crash what became of them.
import { type ExtensionState } from 'svc-gateway/plugin'
import { listOf, textOf } from 'svc-gateway/kit'

/**
 * - `tracked`: with the id that is computed from the key, so Messages can be asked about it.
 * - `untracked`: nobody can say whether it arrived.
 * - `sent`: it arrived.
 */
type Way = 'tracked' | 'untracked' | 'sent'

export interface SentLog {
  /** Absent: the message was never sent, or it certainly did not arrive. */
  find(key: string): Way | undefined
  /** On disk when the promise resolves. */
  record(key: string, way: Way | undefined): Promise<void>
}

/** How many messages are kept. The gateway asks soon after a crash, before it has sent that many others. */
const longest = 300
const stateKey = 'sent'

export async function openSentLog(state: ExtensionState): Promise<SentLog> {
  const ways = new Map<string, Way>()
  for (const entry of listOf(await state.get(stateKey))) {
    const [key, way] = listOf(entry).map(textOf)
    if (key !== undefined) ways.set(key, way === 'sent' || way === 'tracked' ? way : 'untracked')
  }
  return {
    find: (key) => ways.get(key),
    async record(key, way) {
      // The newest entry is the last one.
      ways.delete(key)
      if (way) ways.set(key, way)
      for (const oldest of ways.keys()) if (ways.size > longest) ways.delete(oldest)
      await state.set(stateKey, [...ways])
    },
  }
}
