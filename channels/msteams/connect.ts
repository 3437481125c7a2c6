// Connects one bot: gets its token, sends to its conversations, and answers the requests of the Bot Framework.
import { type ChannelContext, type Connection } from 'svc-gateway/plugin'
import { connectError } from 'svc-gateway/kit'
import type { TeamsConfig } from './config.ts'
import { createConversations } from './conversations.ts'
import { createReceiver } from './requests.ts'
import { createTokens, tokenUrlOf } from './tokens.ts'
import { createTrust } from './trust.ts'

const defaultServiceUrl = 'https://smba.trafficmanager.net/teams'

export async function connect(config: TeamsConfig, context: ChannelContext): Promise<Connection> {
  const tokens = createTokens(config, context.signal)
  // Refused credentials show now and not with the first message.
  await tokens.get().catch((error: unknown) => {
    throw connectError(error, { name: 'The token service of Microsoft', url: tokenUrlOf(config), setting: 'tokenUrl' })
  })
  const trust = createTrust(config)
  const conversations = createConversations(tokens, context.signal)
  const serviceUrlOf = (route: unknown): string => {
    const { serviceUrl } = (route ?? {}) as { serviceUrl?: unknown }
    return trust.isServiceUrl(serviceUrl) ? serviceUrl : (config.serviceUrl ?? defaultServiceUrl)
  }
  return {
    send: async ({ to, text, threadId, route }) =>
      await conversations.post({ serviceUrl: serviceUrlOf(route), to, threadId, activity: message(text) }),
    typing: async (to, on, route) => {
      if (on) await conversations.post({ serviceUrl: serviceUrlOf(route), to, activity: { type: 'typing' } })
    },
    handle: createReceiver(config, { tokens, trust, context }),
    close: async () => undefined,
  }
}

const message = (text: string) => ({ type: 'message', text, textFormat: 'markdown' })
