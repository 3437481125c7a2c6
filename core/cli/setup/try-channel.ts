// Connects the accounts of a channel once, as the gateway does, and disconnects them again.
import { resolveAccounts } from '../../config/accounts.ts'
import { createRedactor, secretValues } from '../../config/redaction.ts'
import type { ChannelConfig } from '../../config/schema/schema.ts'
import type { Extensions } from '../../loader/registry.ts'
import type { Channel, ChannelContext, Json } from '../../plugin/plugin.ts'
import { silentLog } from '../../loader/extension-log.ts'

export interface ChannelResult {
  name: string
  /** `later`: it can only be checked when the gateway runs. */
  state: 'connected' | 'failed' | 'later'
  /** Why it failed, or what is left to do. A sentence. */
  reason?: string
}

const limitSeconds = 30

export async function tryChannel(
  name: string,
  section: ChannelConfig,
  { channels, findPackages }: Pick<Extensions, 'channels' | 'findPackages'>,
): Promise<ChannelResult> {
  const channel = channels.get(name)
  if (!channel) throw new Error('The configuration was not checked.')
  for (const { id, settings } of resolveAccounts(section, channel.config)) {
    const { missing } = findPackages(channel, settings)
    if (missing !== undefined) return { name, state: 'later', reason: `The channel ${missing}` }
    // Before the login, no connection is possible. Some platforms of this sort also forget a message that was read.
    if (channel.login) return { name, state: 'later', reason: 'The account is checked when the gateway starts.' }
    const problem = await connectOnce(channel, { accountId: id, settings })
    if (problem !== undefined) {
      const { text } = createRedactor(secretValues(settings, channel.config))
      return { name, state: 'failed', reason: text(problem) }
    }
  }
  return { name, state: 'connected' }
}

interface Account {
  accountId: string
  settings: Record<string, unknown>
}

/** Returns the problem. */
async function connectOnce(channel: Channel, { accountId, settings }: Account): Promise<string | undefined> {
  const stop = new AbortController()
  const limit = AbortSignal.timeout(limitSeconds * 1000)
  const signal = AbortSignal.any([stop.signal, limit])
  let hasReceived = false
  const onMessage = (): void => {
    hasReceived = true
    stop.abort()
  }
  const tooLate = new Promise<never>((_resolve, reject) => {
    limit.addEventListener('abort', () => reject(new Error(`It did not connect within ${limitSeconds} seconds.`)))
  })
  const connectAndClose = async (): Promise<void> => {
    const connection = await channel.connect(settings, createContext(accountId, { signal, onMessage }))
    stop.abort()
    await connection.close()
  }
  try {
    await Promise.race([connectAndClose(), tooLate])
    return undefined
  } catch (error) {
    // A channel may catch up before `connect` returns. What has delivered a message has accepted the account.
    if (hasReceived) return undefined
    return error instanceof Error ? error.message : 'The reason is not known.'
  } finally {
    stop.abort()
  }
}

interface TrialOptions {
  signal: AbortSignal
  /** Called when the channel receives a message. */
  onMessage(): void
}

/** No message is stored, so the platform keeps them for the gateway. */
function createContext(accountId: string, { signal, onMessage }: TrialOptions): ChannelContext {
  const values = new Map<string, Json>()
  const { promise: ended, reject } = Promise.withResolvers<never>()
  ended.catch(() => undefined)
  signal.addEventListener('abort', () => reject(signal.reason as Error))
  return {
    accountId,
    signal,
    log: silentLog,
    state: {
      get: async (key) => values.get(key),
      set: async (key, value) => void values.set(key, value),
      delete: async (key) => void values.delete(key),
    },
    receive: () => {
      onMessage()
      return ended
    },
    lost: () => undefined,
    undelivered: async () => undefined,
    // Not confirmed: the platform reports it again to the gateway.
    moved: () => ended,
  }
}
