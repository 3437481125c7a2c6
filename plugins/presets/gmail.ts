// The preset for Gmail: mails from a watcher, or a notification of Google Pub/Sub that a mailbox has changed.
import {
  clip,
  definePreset,
  InputError,
  lines,
  type PresetRequest,
  type Static,
  type TSchema,
  Type,
} from 'svc-gateway/plugin'

const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
const Text = Maybe(Type.String())

const Mail = Type.Object({
  id: Text,
  threadId: Text,
  from: Text,
  to: Text,
  subject: Text,
  date: Maybe(Type.Union([Type.String(), Type.Number()])),
  snippet: Text,
  body: Text,
  labels: Maybe(Type.Array(Type.String())),
})
type Mail = Static<typeof Mail>

const Payload = Type.Object({
  /** From a watcher, which has already read the mails. */
  messages: Type.Optional(Type.Array(Mail, { maxItems: 200 })),
  /** From Pub/Sub: `data` is `{ emailAddress, historyId }` in base64. */
  message: Type.Optional(Type.Object({ data: Text, messageId: Text, message_id: Text })),
})
type Payload = Static<typeof Payload>

export default definePreset<Payload>({
  name: 'gmail',
  description: 'New mail in a Gmail mailbox.',
  payload: Payload,
  mapping: { name: 'Gmail' },
  auth: { scheme: 'google-oidc' },
  deliveryId: ({ payload: { message } }) => message?.messageId ?? message?.message_id ?? undefined,
  toAction,
})

function toAction({ payload: { messages, message } }: PresetRequest<Payload>) {
  const [first, ...others] = messages ?? []
  if (first) return others.length === 0 ? describeMail(first) : [first, ...others].map(describeMail)
  if (messages) return null
  if (message) return describeChange(message.data)
  throw new InputError('messages (mails) or message (from Pub/Sub) is required.')
}

const describeMail = ({ id, threadId, from, to, subject, date, snippet, body }: Mail) => ({
  message: lines(
    `New mail from ${from ?? 'somebody'}`,
    to && `To: ${to}`,
    `Subject: ${clip(subject, 500) || '(none)'}`,
    date ? `Date: ${date}` : undefined,
    id && `Id: ${id}`,
    `\n${clip(body, 20_000) || clip(snippet)}`,
  ),
  sessionKey: `hook:gmail:${clip(threadId ?? id ?? from ?? 'mail', 200)}`,
})

/** Gmail reports that something has changed, but not what, so the agent must fetch it. */
function describeChange(data: string | null | undefined) {
  const { emailAddress, historyId } = decode(data)
  if (typeof emailAddress !== 'string')
    throw new InputError('message.data must be an object with emailAddress and historyId, in base64.')
  return {
    message: lines(
      `Gmail: the mailbox ${clip(emailAddress, 200)} has changed.`,
      `History id: ${String(historyId)}`,
      'Fetch what is new.',
    ),
    sessionKey: `hook:gmail:${clip(emailAddress, 200)}`,
  }
}

function decode(data: string | null | undefined): { emailAddress?: unknown; historyId?: unknown } {
  try {
    return Object(JSON.parse(Buffer.from(data ?? '', 'base64').toString('utf8'))) as object
  } catch {
    return {}
  }
}
