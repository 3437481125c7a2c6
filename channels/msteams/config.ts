// The settings of the msteams channel.
import { type Static, Type } from 'svc-gateway/plugin'

const NotBlank = (description: string) => Type.String({ pattern: String.raw`\S`, description })

/** Its pattern. */
export const uuid = '[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}'

export const Config = Type.Object({
  appId: NotBlank('The Microsoft App ID of the bot.'),
  appPassword: Type.String({ secret: true, pattern: String.raw`\S`, description: 'A client secret of the app.' }),
  tenantId: Type.String({
    pattern: `^${uuid}$`,
    description: 'The ID (UUID) of the tenant (directory) in which the app is registered. Others cannot use the bot.',
  }),
  openIdMetadataUrl: Type.Optional(
    Type.String({
      description: "Where the keys of incoming requests are found. Default: the Bot Framework's public cloud.",
      pattern: '^https?://.+/openidconfiguration$',
    }),
  ),
  serviceUrl: Type.Optional(
    Type.String({
      description:
        'Where messages go that answer nothing. Default: the public service, which is right for all clouds but those ' +
        'of governments.',
      pattern: '^https?://',
    }),
  ),
  tokenUrl: Type.Optional(
    Type.String({
      description:
        'Where the bot gets its tokens. Default: the login service of the tenant. Service URLs of the same origin ' +
        'are trusted as well.',
      pattern: '^https?://',
    }),
  ),
})
export type TeamsConfig = Static<typeof Config>
