// The Telegram channel: a bot that reads messages by long polling and sends them with the Bot API.
import { AuthError, type ChannelContext, defineChannel, type Static, Type } from 'svc-gateway/plugin'
import { connectError, connectStatusError, fieldsOf } from 'svc-gateway/kit'
import { apiErrorOf, type Client, grammySignal, openClient } from './client.ts'
import { poll } from './poll.ts'
import { maxFileBytes, removeChoices, send, threadOption } from './send.ts'

const Config = Type.Object(
  {
    botToken: Type.String({
      secret: true,
      pattern: String.raw`^[\w:-]+$`,
      description: 'The token of the bot, from @BotFather.',
    }),
    apiRoot: Type.String({
      pattern: '^https?://',
      default: 'https://api.telegram.org',
      description: 'Base URL of the Bot API. Change it to use a Bot API server of your own.',
    }),
  },
  { additionalProperties: false },
)

export default defineChannel<Static<typeof Config>>({
  name: 'telegram',
  description: 'A Telegram bot, in direct messages, groups and channels.',
  config: Config,
  target: Type.String({
    pattern: String.raw`^(-?[1-9]\d{0,15}|@[A-Za-z]\w{3,})$`,
    description: 'The id of a chat, such as "123456789" or "-1001234567890", or the @name of a public channel.',
  }),
  sender: Type.String({
    pattern: String.raw`^-?[1-9]\d{0,15}$`,
    description: 'the id of a user, a number such as 123456789; names can change, so they are not compared',
  }),
  group: Type.String({
    pattern: String.raw`^-[1-9]\d{0,15}$`,
    description: 'the id of a group, such as -1001234567890',
  }),
  // Telegram has no key that would make a second message with the same content recognizable.
  limits: { maxText: 4096, format: 'html', idempotency: 'none', maxFileBytes, maxChoices: 8 },
  packages: () => ({ grammy: '1.46.0' }),

  async connect(config, context) {
    const client = await openClient(config)
    const stop = new AbortController()
    const signal = AbortSignal.any([stop.signal, context.signal])
    try {
      const me = await identify(client, { apiRoot: config.apiRoot, signal })
      describeLimits(me, context)
      const polling = poll(client, { context, me, signal })
      return {
        send: (message) => send(client, message),
        removeChoices: (message) => removeChoices(client, message),
        // Telegram hides it by itself after five seconds, or when a message is sent.
        typing: async (to, on, route) =>
          void (on && (await client.api.sendChatAction(to, 'typing', threadOption(route)))),
        async close() {
          stop.abort()
          await polling
          client.close()
        },
      }
    } catch (error) {
      client.close()
      throw error
    }
  },
})

/** What BotFather has set, which nobody would look for when messages of a group are missing. */
function describeLimits(me: object, { log }: Pick<ChannelContext, 'log'>): void {
  const { can_join_groups: joins, can_read_all_group_messages: readsAll } = fieldsOf(me)
  if (joins === false) log.info({}, 'the bot cannot be added to groups; /setjoingroups of BotFather allows it')
  else if (readsAll === false)
    log.info(
      {},
      'Telegram gives the bot only the messages of groups that concern it; /setprivacy of BotFather changes that',
    )
}

/** Checks the token. A webhook that somebody has set would keep the bot from reading messages. */
async function identify({ api }: Client, { apiRoot, signal }: { apiRoot: string; signal: AbortSignal }) {
  try {
    const me = await api.getMe(grammySignal(signal))
    await api.deleteWebhook({}, grammySignal(signal))
    return me
  } catch (error) {
    throw explain(error, apiRoot)
  }
}

function explain(error: unknown, apiRoot: string): Error {
  const service = { name: 'Telegram', url: apiRoot, setting: 'apiRoot' }
  const { error_code: code } = apiErrorOf(error) ?? {}
  // Telegram answers 404 to tokens that it cannot read.
  if (code === 401 || code === 404)
    return new AuthError('Telegram refuses the bot token. Copy it again from @BotFather into botToken.')
  if (code !== undefined) {
    const { retry_after: seconds } = apiErrorOf(error)?.parameters ?? {}
    return connectStatusError({ status: code, retryAfterMs: seconds && seconds * 1000 }, service)
  }
  // The library's own message contains the token.
  return connectError(new TypeError('no answer', { cause: (error as { error?: unknown }).error }), service)
}
