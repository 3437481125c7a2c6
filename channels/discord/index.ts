// The Discord channel: a bot that reads and answers direct messages, server channels and threads.
import { defineChannel, type Static, Type } from 'svc-gateway/plugin'
import { fieldsOf } from 'svc-gateway/kit'
import { type DiscordApi, errorOfFailure } from './failure.ts'
import { openGateway } from './gateway.ts'
import { createInbound } from './inbound.ts'
import { isId } from './messages.ts'
import { openProgress } from './progress.ts'
import { createSender } from './send.ts'

const Config = Type.Object({
  token: Type.String({
    secret: true,
    pattern: String.raw`^[\w.-]+$`,
    description: 'The token of the bot, from the page "Bot" of its application in the Discord developer portal.',
  }),
  apiRoot: Type.Optional(
    Type.String({
      pattern: '^https?://',
      default: 'https://discord.com/api',
      description: "Base URL of Discord's API, without its version.",
    }),
  ),
})

const idPattern = String.raw`^\d{17,20}$`

export default defineChannel<Static<typeof Config>>({
  name: 'discord',
  description: 'Discord: direct messages, server channels and threads, through a bot.',
  config: Config,
  target: Type.String({
    pattern: String.raw`^(?:user:)?\d{17,20}$`,
    description: 'The id of a channel or thread, such as "1180000000000000001", or "user:<id>" for a direct message.',
  }),
  sender: Type.String({ pattern: idPattern, description: 'the id of a user, 17 to 20 digits, not the name' }),
  group: Type.String({ pattern: idPattern, description: 'the id of a channel, 17 to 20 digits, not the name' }),
  normalizeId: (id) => /^(?:<@!?(\d+)>|<#(\d+)>|user:(\d+))$/.exec(id)?.slice(1).join('') ?? id,
  limits: { maxText: 2000, idempotency: 'native', maxFileBytes: 10 * 1024 * 1024, maxChoices: 5 },
  packages: () => ({ '@discordjs/core': '2.6.0', '@discordjs/rest': '2.6.3', '@discordjs/ws': '2.0.4' }),

  async connect({ token, apiRoot = 'https://discord.com/api' }, context) {
    const [{ API }, { REST }] = await Promise.all([import('@discordjs/core'), import('@discordjs/rest')])
    // The library would repeat requests by itself. The gateway decides that, and must know how long to wait.
    const rest = new REST({
      version: '10',
      api: apiRoot.replace(/\/+$/, ''),
      retries: 0,
      offset: 0,
      rejectOnRateLimit: () => true,
    }).setToken(token)
    const closing = new AbortController()
    const closeRest = (): void => {
      closing.abort()
      rest.clearHashSweeper()
      rest.clearHandlerSweeper()
    }
    try {
      const api: DiscordApi = new API(rest)
      const botId = await findBotId(api, apiRoot)
      const progress = await openProgress(context.state, botId)
      const signal = AbortSignal.any([context.signal, closing.signal])
      const inbound = createInbound({ api, bot: { id: botId, apiRoot }, progress, context, signal })
      const gateway = await openGateway({
        rest,
        apiRoot,
        token,
        session: progress.session,
        signal,
        ...inbound,
        lost: context.lost,
      })
      return {
        ...createSender({ api, progress, context }),
        async close() {
          closeRest()
          await Promise.all([gateway.close(), inbound.close()])
        },
      }
    } catch (error) {
      closeRest()
      throw error
    }
  },
})

/** Asks who the bot is, which also shows whether the token is valid. */
async function findBotId(api: DiscordApi, apiRoot: string): Promise<string> {
  try {
    const { id } = fieldsOf(await api.users.getCurrent())
    if (!isId(id)) throw new TypeError('the answer has no id')
    return id
  } catch (error) {
    throw errorOfFailure(error, apiRoot)
  }
}
