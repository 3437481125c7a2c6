// The settings of the watch: which mailbox, with which credentials, and what of each mail is read.
import { type Static, Type } from 'svc-gateway/plugin'

export const defaultUrls = {
  gmail: 'https://gmail.googleapis.com',
  pubsub: 'https://pubsub.googleapis.com',
  token: 'https://oauth2.googleapis.com/token',
  authorize: 'https://accounts.google.com/o/oauth2/v2/auth',
}

const Url = (name: keyof typeof defaultUrls, description: string) =>
  Type.String({ default: defaultUrls[name], description })

const Urls = Type.Object(
  {
    gmail: Url('gmail', 'Address of the Gmail API.'),
    pubsub: Url('pubsub', 'Address of the Pub/Sub API.'),
    token: Url('token', 'Address that issues access tokens.'),
    authorize: Url('authorize', 'Page on which a person grants access.'),
  },
  { additionalProperties: false, default: {}, description: 'Addresses of Google, if a proxy is in between.' },
)

export const Watch = Type.Object(
  {
    account: Type.String({ pattern: '^[^@\\s]+@[^@\\s]+$', description: 'The address of the mailbox.' }),
    credentials: Type.String({
      minLength: 1,
      path: true,
      description:
        'File with the credentials, which "svc-gateway gmail setup" writes, or the key of a service account.',
    }),
    labels: Type.Array(Type.String({ minLength: 1 }), {
      minItems: 1,
      default: ['INBOX'],
      description: 'Only mails with one of these labels, by id or name.',
    }),
    topic: Type.Optional(
      Type.String({
        pattern: '^projects/[^/]+/topics/[^/]+$',
        description: 'Pub/Sub topic that Gmail notifies. Default: the mailbox is only polled.',
      }),
    ),
    subscription: Type.Optional(
      Type.String({
        pattern: '^projects/[^/]+/subscriptions/[^/]+$',
        description: 'Pull subscription of the topic. Default: Pub/Sub pushes to the hook.',
      }),
    ),
    pollSeconds: Type.Integer({
      minimum: 1,
      maximum: 86_400,
      default: 60,
      description: 'How often the mailbox is read without a notification, in seconds.',
    }),
    includeBody: Type.Boolean({
      default: true,
      description: 'Whether the text of a mail is read, not only its start.',
    }),
    maxBytes: Type.Integer({
      minimum: 1,
      maximum: 200_000,
      default: 20_000,
      description: 'Maximum length of the text of a mail in bytes. Longer texts are cut.',
    }),
    urls: Urls,
  },
  {
    additionalProperties: false,
    description: 'Reads new mail from the mailbox itself. Default: other programs send it.',
  },
)
export type Watch = Static<typeof Watch>

export const Settings = Type.Object({ watch: Type.Optional(Watch) })
export type Settings = Static<typeof Settings>
