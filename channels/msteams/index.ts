// The msteams channel: Microsoft Teams, as a bot of the Bot Framework.
import { defineChannel, Type } from 'svc-gateway/plugin'
import { Config, type TeamsConfig, uuid } from './config.ts'
import { connect } from './connect.ts'

export default defineChannel<TeamsConfig>({
  name: 'msteams',
  aliases: ['teams'],
  description: 'Microsoft Teams.',
  config: Config,
  target: Type.String({
    pattern: String.raw`^\S+$`,
    description: 'The ID of a conversation in which the bot is, such as `a:1…` or `19:…@thread.tacv2`.',
  }),
  sender: Type.String({
    pattern: String.raw`^(?:${uuid}|\d+:\S+)$`,
    description: 'the object ID (UUID) of a person in Microsoft Entra',
  }),
  group: Type.String({ pattern: String.raw`^19:\S+$`, description: 'the ID of a channel or group chat, `19:…`' }),
  normalizeId: (id) => id.replace(/^8:orgid:/i, ''),
  // Teams accepts about 28 KB for a whole message, and has no key by which it recognizes a message.
  limits: { maxText: 20_000, unit: 'bytes', format: 'markdown', idempotency: 'none', maxChoices: 6 },
  connect,
})
