// The settings of the watch: which mailbox, with which credentials, and what of each mail is read.
import { type Static, Type } from 'svc-gateway/plugin'

const Urls = Type.Object(
  {
    gmail: Type.String({ default: 'https://gmail.googleapis.com', description: 'Address of the Gmail API.' }),
    pubsub: Type.String({ default: 'https://pubsub.googleapis.com', description: 'Address of the Pub/Sub API.' }),
    token: Type.String({
      default: 'https://oauth2.googleapis.com/token',
      description: 'Address that issues access tokens.',
    }),
    authorize: Type.String({
      default: 'https://accounts.google.com/o/oauth2/v2/auth',
      description: 'Page on which a person grants access.',
    }),
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
