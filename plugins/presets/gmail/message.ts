// Reads a message of the Gmail API: its headers, its text without markup, and its labels.
import type { gmail_v1 } from '@googleapis/gmail'
import { readHtml } from 'svc-gateway/kit'
import type { Watch } from './settings.ts'

type Part = gmail_v1.Schema$MessagePart

/** The form in which the preset accepts a mail. */
export function mailOf(
  { threadId, labelIds, snippet, payload, ...message }: gmail_v1.Schema$Message,
  { includeBody, maxBytes }: Pick<Watch, 'includeBody' | 'maxBytes'>,
) {
  const id = message.id ?? ''
  const header = (name: string): string =>
    payload?.headers?.find((one) => one.name?.toLowerCase() === name)?.value?.toWellFormed() ?? ''
  return {
    id,
    threadId: threadId ?? id,
    from: header('from'),
    to: header('to'),
    subject: header('subject'),
    date: header('date'),
    // Gmail escapes the snippet as HTML.
    snippet: readHtml(snippet ?? '', noBase).text,
    body: includeBody && payload ? cut(textOf(payload), maxBytes) : '',
    labels: [...(labelIds ?? [])],
  }
}

/** Links in a mail are absolute. */
const noBase = 'about:blank'

/** The plain text if there is one, else the text of the HTML. */
const textOf = (payload: Part): string => {
  const parts = partsOf(payload)
  const plain = dataOf(parts, 'text/plain')
  return plain?.trim() ? plain : readHtml(dataOf(parts, 'text/html') ?? '', noBase).text
}

const dataOf = (parts: readonly Part[], type: string): string | undefined => {
  const data = parts.find(({ mimeType, filename, body }) => mimeType === type && !filename && body?.data)?.body?.data
  return data ? Buffer.from(data, 'base64url').toString('utf8') : undefined
}

const deepest = 20

const partsOf = (part: Part, depth = 0): Part[] => [
  part,
  ...(depth < deepest ? (part.parts ?? []).flatMap((inner) => partsOf(inner, depth + 1)) : []),
]

/** At most `maxBytes` of UTF-8, without half a character at the end. */
const cut = (text: string, maxBytes: number): string =>
  new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes), { stream: true })
