// The preset for Gmail: mails that its own watch reads or that others send, or a notification of a changed mailbox.
import { exactId, fieldsOf, fieldsOfJson, line, lines, Maybe, words } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'
import { describeMail, hasContent, isOwn, Mail } from './mail.ts'
import { scheme } from './scheme.ts'
import { Settings, type Watch } from './settings.ts'
import { Answers, setup } from './setup.ts'
import { startWatch } from './watch.ts'

const Text = Maybe(Type.String())
const Mails = Maybe(Type.Array(Mail, { maxItems: 200 }))

/** What Gmail publishes when a mailbox has changed. */
const Change = Type.Object({
  emailAddress: Text,
  historyId: Maybe(Type.Union([Type.String(), Type.Number()])),
})
type Change = Static<typeof Change>

/** Each entry of a history has `messages`, and says in the other fields what happened to them. */
const Entry = Type.Object({
  messages: Mails,
  messagesAdded: Maybe(Type.Array(Type.Object({ message: Maybe(Mail) }))),
  messagesDeleted: Maybe(Type.Array(Type.Unknown())),
  labelsAdded: Maybe(Type.Array(Type.Unknown())),
  labelsRemoved: Maybe(Type.Array(Type.Unknown())),
})
type Entry = Static<typeof Entry>

const Payload = Type.Object({
  /** From a watcher, which has already read the mails, or a list of the Gmail API. */
  messages: Mails,
  /** From the Gmail API. */
  history: Maybe(Type.Array(Entry, { maxItems: 500 })),
  /** From Pub/Sub: `data` is a change in base64. */
  message: Maybe(Type.Object({ data: Maybe(Type.Union([Type.String(), Change])), messageId: Text, message_id: Text })),
  /** From Pub/Sub without its wrapper, and beside a history. */
  ...Change.properties,
})
type Payload = Static<typeof Payload>

const preset = definePreset<Payload, Settings>({
  name: 'gmail',
  description: 'New mail in a Gmail mailbox.',
  payload: Payload,
  mapping: { name: 'Gmail' },
  auth: { scheme: 'google-oidc' },
  config: Settings,
  deliveryId: ({ payload: { message } }) => message?.messageId ?? message?.message_id ?? undefined,
  toAction,
  needsJob: ({ watch }) => watch !== undefined,
  packages: () => ({ '@googleapis/gmail': '22.0.1', 'google-auth-library': '11.3.4' }),
  setup: { answers: Answers, run: setup },
  start: ({ watch }, context) => startWatch(watch as Watch, context),
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

function toAction({ payload, config: { watch } }: PresetRequest<Payload, Settings>) {
  const { messages, history, message, emailAddress } = payload
  const mails = messages ?? (history ? history.flatMap(addedIn) : undefined)
  if (mails) {
    const actions = describeMails(
      mails.filter((mail) => !isOwn(mail)),
      payload,
    )
    return actions.length === 0 ? null : actions.length === 1 ? (actions[0] ?? null) : actions
  }
  // The watch reads the mailbox itself.
  if (watch && (message || emailAddress)) return null
  if (message) return describeChange(readChange(message.data))
  if (emailAddress) return describeChange(payload)
  throw new InputError('messages (mails), history (from the Gmail API) or message (from Pub/Sub) is required.')
}

/** Deleted mails and changed labels are no new mail. */
function addedIn(entry: Entry): Mail[] {
  if (entry.messagesAdded) return entry.messagesAdded.flatMap(({ message }) => message ?? [])
  return entry.messagesDeleted || entry.labelsAdded || entry.labelsRemoved ? [] : (entry.messages ?? [])
}

/** One action for each mail that can be read, and one for all mails of which only the id is known. */
function describeMails(mails: readonly Mail[], change: Change) {
  const bare = mails.filter((mail) => !hasContent(mail) && mail.id)
  const others = mails.filter((mail) => hasContent(mail) || !mail.id)
  return [...others.map(describeMail), ...(bare.length > 0 ? [describeIds(bare, change)] : [])]
}

const mostListed = 50

function describeIds(mails: readonly Mail[], { emailAddress }: Change) {
  const ids = [...new Set(mails.map(idsOf))]
  const more = ids.length > mostListed && `- and ${ids.length - mostListed} more`
  const threads = new Set(mails.map(({ id, threadId }) => threadId || id))
  const thread = threads.size === 1 ? [...threads][0] : undefined
  const count = ids.length === 1 ? '1 new mail' : `${ids.length} new mails`
  return {
    message: lines(
      `Gmail: ${words(count, emailAddress && `for ${line(emailAddress, 200)}`)}.`,
      'Fetch by id:',
      ...ids.slice(0, mostListed).map((id) => line(id)),
      more,
    ),
    sessionKey: `hook:gmail:${line(thread ?? emailAddress, 200) || 'mailbox'}`,
  }
}

const idsOf = ({ id, threadId }: Mail): string => words('-', id, threadId && threadId !== id && `(thread ${threadId})`)

/** Gmail reports that something has changed, but not what, so the agent must fetch it. */
function describeChange({ emailAddress, historyId }: { emailAddress?: unknown; historyId?: unknown }) {
  if (typeof emailAddress !== 'string' || !line(emailAddress))
    throw new InputError('message.data must be an object with emailAddress and historyId, in base64.')
  const [mailbox, id] = [line(emailAddress, 200), exactId(historyId)]
  return {
    message: lines(`Gmail: the mailbox ${mailbox} has changed.`, id && `History id: ${id}`, 'Fetch what is new.'),
    sessionKey: `hook:gmail:${mailbox}`,
  }
}

const readChange = (data: NonNullable<Payload['message']>['data']): { emailAddress?: unknown; historyId?: unknown } =>
  typeof data === 'object' ? fieldsOf(data) : fieldsOfJson(Buffer.from(data ?? '', 'base64').toString())
