// The Signal channel: sends and receives through the HTTP daemon of signal-cli.
import { phoneNumber, fieldsOf, listOf, textOf } from 'svc-gateway/kit'
import { type ChannelContext, defineChannel, type Static, Type } from 'svc-gateway/plugin'
import { notLinked, openEvents, type ServerEvent } from './events.ts'
import { readMessage } from './inbound.ts'
import { forgetAccount, linkAccount } from './login.ts'
import { type Call, createCall, explainConnect, methodNotFound, RpcError } from './rpc.ts'
import { recipientOf, sendMessage } from './send.ts'

const Config = Type.Object({
  account: Type.String({
    pattern: String.raw`^\+[1-9]\d{4,14}$`,
    description: 'The phone number of the Signal account, such as +15550000001.',
  }),
  httpUrl: Type.String({
    default: 'http://127.0.0.1:8080',
    pattern: '^https?://',
    description: 'Where the daemon of signal-cli listens (`signal-cli daemon --http`).',
  }),
})

const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'
const groupId = '[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{22}=='

const connectMs = 30_000
const typingMs = 10_000

export default defineChannel<Static<typeof Config>>({
  name: 'signal',
  description: 'Sends and receives Signal messages through signal-cli.',
  config: Config,
  target: Type.String({
    pattern: String.raw`^(?:\+[1-9]\d{4,14}|${uuid}|${groupId})$`,
    description: 'A phone number such as +15551112222, the UUID of a Signal user, or the id of a group.',
  }),
  sender: Type.String({
    pattern: String.raw`^(?:\+[1-9]\d{4,14}|${uuid})$`,
    description: 'a phone number with country code, such as +15551112222, or the UUID of a Signal user',
  }),
  group: Type.String({ pattern: `^(?:${groupId})$`, description: 'the id of a group, 44 or 24 characters of base64' }),
  normalizeId: (id) => phoneNumber(id) ?? id,
  // Signal sends what exceeds 2,000 bytes as an attachment. signal-cli reads at most 20 million characters of base64.
  limits: { maxText: 2_000, unit: 'bytes', format: 'ranges', idempotency: 'none', maxFileBytes: 14_000_000 },

  async connect(config, context) {
    const stop = new AbortController()
    const signal = AbortSignal.any([context.signal, stop.signal])
    const call = createCall(config)
    const lastEventId = textOf(await context.state.get(cursorKey))
    const verified = verifyAccount(config.account, call, AbortSignal.any([signal, AbortSignal.timeout(connectMs)]))
    const events = await verified
      .then(() => openEvents(config, { lastEventId, signal }))
      .catch((error: unknown) => {
        throw explainConnect(error, config.httpUrl)
      })
    const reading = receiveAll(events, { account: config.account, call, context, signal })
    return {
      send: (message) => sendMessage(call, message, signal),
      async typing(to, on) {
        const ends = AbortSignal.any([signal, AbortSignal.timeout(typingMs)])
        await call('sendTyping', { ...recipientOf(to), ...(!on && { stop: true }) }, ends)
      },
      async close() {
        stop.abort()
        await reading
      },
    }
  },

  login: (config, { signal }) => linkAccount(config, signal),
  logout: (config, { signal }) => forgetAccount(config, signal),
})

/** A daemon that serves a single account does not list accounts. */
async function verifyAccount(account: string, call: Call, signal: AbortSignal): Promise<void> {
  try {
    const accounts = listOf(await call('listAccounts', {}, signal))
    if (!accounts.some((entry) => fieldsOf(entry)['number'] === account)) throw notLinked(account)
  } catch (error) {
    if (!(error instanceof RpcError && error.code === methodNotFound)) throw error
  }
}

const cursorKey = 'lastEventId'

interface Receiving {
  account: string
  call: Call
  context: ChannelContext
  signal: AbortSignal
}

/** Takes one message after the other: signal-cli has forgotten what it has handed over. */
async function receiveAll(
  events: AsyncIterable<ServerEvent>,
  { account, call, context, signal }: Receiving,
): Promise<void> {
  try {
    for await (const { id, data } of events) {
      const message = readMessage(data, { account, call, log: context.log })
      if (message) await context.receive(message)
      if (id !== undefined) await context.state.set(cursorKey, id)
    }
    if (!signal.aborted) context.lost('signal-cli closed the stream of messages')
  } catch (error) {
    if (!signal.aborted) context.lost(error instanceof Error ? error.message : 'reading messages failed')
  }
}
