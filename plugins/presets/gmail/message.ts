// Reads a message of the Gmail API: its headers, its text without markup, and its labels.
import { readHtml } from 'svc-gateway/plugin'
import type { Watch } from './settings.ts'

/** A message of the Gmail API, as far as it is read. */
export interface GmailMessage {
  id: string
  threadId?: string
  labelIds?: readonly string[]
  snippet?: string
  /** When Gmail received it, in Unix milliseconds as a text. */
  internalDate?: string
  payload?: Part
}

interface Part {
  mimeType?: string
  filename?: string
  headers?: readonly { name: string; value: string }[]
  body?: { data?: string }
  parts?: readonly Part[]
}

/** The form in which the preset accepts a mail. */
export function mailOf(message: GmailMessage, { includeBody, maxBytes }: Pick<Watch, 'includeBody' | 'maxBytes'>) {
  const { id, threadId = id, labelIds = [], snippet = '', payload } = message
  const header = (name: string): string =>
    payload?.headers?.find((one) => one.name.toLowerCase() === name)?.value.toWellFormed() ?? ''
  return {
    id,
    threadId,
    from: header('from'),
    to: header('to'),
    subject: header('subject'),
    date: header('date'),
    // Gmail escapes the snippet as HTML.
    snippet: readHtml(snippet, noBase).text,
    body: includeBody && payload ? cut(textOf(payload), maxBytes) : '',
    labels: [...labelIds],
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
  return data === undefined ? undefined : Buffer.from(data, 'base64url').toString('utf8')
}

const deepest = 20

const partsOf = (part: Part, depth = 0): Part[] => [
  part,
  ...(depth < deepest ? (part.parts ?? []).flatMap((inner) => partsOf(inner, depth + 1)) : []),
]

/** At most `maxBytes` of UTF-8, without half a character at the end. */
const cut = (text: string, maxBytes: number): string =>
  new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes), { stream: true })
