// A mail, as a watcher posts it or as the Gmail API returns it, and the message about it.
import { clip, line, lines, Maybe } from 'svc-gateway/kit'
import { type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())

/** All fields of a mail are optional. A list of the Gmail API has only `id` and `threadId`. */
export const Mail = Type.Object({
  id: Text,
  threadId: Text,
  from: Text,
  to: Text,
  subject: Text,
  date: Maybe(Type.Union([Type.String(), Type.Number()])),
  snippet: Text,
  body: Text,
  labels: Maybe(Type.Array(Type.String())),
  /** The labels in the form of the Gmail API. */
  labelIds: Maybe(Type.Array(Type.String())),
  /** The mail itself, in the form of the Gmail API. */
  payload: Maybe(Type.Object({ headers: Maybe(Type.Array(Type.Object({ name: Text, value: Text }))) })),
})
export type Mail = Static<typeof Mail>

/** Whether there is something to read, or only ids. */
export const hasContent = (mail: Mail): boolean =>
  [mail.from, mail.subject, mail.snippet, mail.body].some((text) => text?.trim()) || Boolean(mail.payload)

/** Whether the mailbox itself has written the mail: an agent that answers mails would otherwise answer itself. */
export const isOwn = ({ labels, labelIds }: Mail): boolean =>
  [...(labels ?? []), ...(labelIds ?? [])].some((label) => label === 'SENT' || label === 'DRAFT')

export function describeMail(mail: Mail) {
  const { id, threadId, snippet, body } = mail
  const from = mail.from || headerOf(mail, 'from')
  const to = mail.to || headerOf(mail, 'to')
  const date = mail.date || headerOf(mail, 'date')
  return {
    message: lines(
      `New mail from ${line(from) || 'somebody'}`,
      to && `To: ${line(to)}`,
      `Subject: ${line(mail.subject || headerOf(mail, 'subject'), 500) || '(none)'}`,
      date ? `Date: ${line(String(date), 100)}` : undefined,
      id && `Id: ${line(id)}`,
      `\n${clip(body, longestBody) || clip(plainTextOf(mail.payload), longestBody) || clip(snippet)}`,
    ),
    sessionKey: `hook:gmail:${line(threadId || id || from, 200) || 'mail'}`,
  }
}

const longestBody = 20_000

const headerOf = ({ payload }: Mail, name: string): string | null | undefined =>
  payload?.headers?.find((header) => header.name?.toLowerCase() === name)?.value

const deepest = 10

/** The first part of a mail that is plain text. The Gmail API nests parts, and encodes them in base64url. */
function plainTextOf(part: unknown, depth = 0): string | undefined {
  if (typeof part !== 'object' || part === null || depth === deepest) return undefined
  const { mimeType, body, parts } = part as { mimeType?: unknown; body?: { data?: unknown } | null; parts?: unknown }
  const data = body?.data
  if (mimeType === 'text/plain' && typeof data === 'string') return Buffer.from(data, 'base64url').toString('utf8')
  if (!Array.isArray(parts)) return undefined
  return parts.map((inner) => plainTextOf(inner, depth + 1)).find(Boolean)
}
