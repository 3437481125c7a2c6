// The settings of one WhatsApp account.
import { type Static, Type } from 'svc-gateway/plugin'

const secret = (description: string) => Type.Optional(Type.String({ secret: true, minLength: 1, description }))

export const Config = Type.Object(
  {
    accessToken: secret('Access token of the Cloud API. Without it, the channel is a linked device of a phone.'),
    phoneNumberId: Type.Optional(
      Type.String({
        pattern: '^[0-9]+$',
        description: 'Id of the phone number in the Cloud API; not the number itself.',
      }),
    ),
    verifyToken: secret('The text that you choose and enter at Meta as the verify token of the webhook.'),
    appSecret: secret("Secret of the Meta app. It signs the webhook's requests."),
    apiRoot: Type.Optional(
      Type.String({
        pattern: '^https?://',
        default: 'https://graph.facebook.com',
        description: 'Address of the Cloud API.',
      }),
    ),
    webSocketUrl: Type.Optional(
      Type.String({
        pattern: '^wss?://',
        default: 'wss://web.whatsapp.com/ws/chat',
        description: 'Address that a linked device connects to.',
      }),
    ),
    version: Type.Optional(
      Type.String({
        pattern: '^[0-9]{1,5}\\.[0-9]{1,7}\\.[0-9]{1,10}$',
        description:
          'Version of WhatsApp Web that a linked device names, such as `2.3000.1043857760`. Absent: that of baileys, ' +
          'or the current one if WhatsApp refuses that.',
      }),
    ),
    mediaHost: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9.-]+(:[0-9]+)?$',
        default: 'mmg.whatsapp.net',
        description: 'Host from which a linked device downloads files.',
      }),
    ),
  },
  { additionalProperties: false },
)

export type Config = Static<typeof Config>

/** Settings that the Cloud API needs. */
export type CloudConfig = Config & Required<Pick<Config, 'accessToken' | 'phoneNumberId' | 'verifyToken' | 'appSecret'>>

const cloudKeys = ['accessToken', 'phoneNumberId', 'verifyToken', 'appSecret'] as const

/** Whether the account is meant to use the Cloud API. Some of its settings may be missing. */
export const hasCloudKey = (config: Config): boolean => cloudKeys.some((key) => config[key] !== undefined)

/** Whether the account uses the Cloud API. Throws if only some of its settings are given. */
export function isCloud(config: Config): config is CloudConfig {
  if (!hasCloudKey(config)) return false
  const missing = cloudKeys.filter((key) => config[key] === undefined)
  if (missing.length > 0) throw new Error(`The Cloud API also needs ${missing.join(', ')}.`)
  return true
}

/** The command that links the account, or sets it up at Meta. */
export const loginCommand = (accountId: string): string =>
  `svc-gateway channels login whatsapp${accountId === 'default' ? '' : ` --account ${accountId}`}`
