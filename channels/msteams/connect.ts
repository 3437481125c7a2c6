// Connects one bot: gets its token, sends to its conversations, and answers the requests of the Bot Framework.
import { type ChannelContext, type Connection, type MessageChoice } from 'svc-gateway/plugin'
import { connectError } from 'svc-gateway/kit'
import type { TeamsConfig } from './config.ts'
import { createConversations } from './conversations.ts'
import { createReceiver } from './requests.ts'
import { createTokens, tokenServiceOf } from './tokens.ts'
import { createTrust } from './trust.ts'

const defaultServiceUrl = 'https://smba.trafficmanager.net/teams'

export async function connect(config: TeamsConfig, context: ChannelContext): Promise<Connection> {
  const tokens = createTokens(config, context.signal)
  // Refused credentials show now and not with the first message.
  await tokens.get().catch((error: unknown) => {
    throw connectError(error, tokenServiceOf(config))
  })
  const trust = createTrust(config)
  const conversations = createConversations(tokens, context.signal)
  const serviceUrlOf = (route: unknown): string => {
    const { serviceUrl } = (route ?? {}) as { serviceUrl?: unknown }
    return trust.isServiceUrl(serviceUrl) ? serviceUrl : (config.serviceUrl ?? defaultServiceUrl)
  }
  return {
    async send({ to, text, threadId, route, choices }) {
      const place = { serviceUrl: serviceUrlOf(route), to, threadId }
      const result = await conversations.post({ ...place, activity: message(text) })
      if (!choices || result.outcome !== 'sent') return result
      const card = await conversations.post({ ...place, activity: cardOf(choices) })
      if (card.outcome === 'sent') return card
      // The text says, too, what can be answered. Its own id must not be used to remove the card.
      context.log.warn({ reason: card.detail }, 'the buttons of a message could not be sent')
      return { outcome: 'sent' }
    },
    async removeChoices({ id, to, threadId, route }) {
      await conversations.remove({ serviceUrl: serviceUrlOf(route), to, threadId, id })
    },
    typing: async (to, on, route) => {
      if (on) await conversations.post({ serviceUrl: serviceUrlOf(route), to, activity: { type: 'typing' } })
    },
    handle: createReceiver(config, { tokens, trust, context }),
    close: async () => undefined,
  }
}

/** A message of its own: Teams would divide a text with a card into two, and then name the id of neither. */
const cardOf = (choices: readonly MessageChoice[]) => ({
  type: 'message',
  summary: choices.map(({ label }) => label).join(', '),
  attachments: [
    {
      contentType: 'application/vnd.microsoft.card.adaptive',
      content: {
        type: 'AdaptiveCard',
        version: '1.4',
        body: [],
        actions: choices.map(({ label, text }) => ({ type: 'Action.Submit', title: label, data: { choice: text } })),
      },
    },
  ],
})

const message = (text: string) => ({ type: 'message', text, textFormat: 'markdown' })
