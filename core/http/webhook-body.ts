// Reads the bodies that webhooks of any service send: JSON, or a form, which may be multipart.
import { isMultipart, parseMultipart } from './multipart.ts'
import { decode, isForm, looksLikeJson, parsePayload } from './payload.ts'

export interface WebhookBody {
  /** The body as it is stored: of a multipart body the fields as JSON, so that no content of files is stored. */
  text: string
  payload: object
  /** Whether it is a form, whose fields are text. */
  isForm: boolean
}

export const parseWebhookBody = (bytes: Buffer, contentType: string | undefined): WebhookBody | Promise<WebhookBody> =>
  isMultipart(contentType) && bytes.length > 0
    ? parseMultipartBody(bytes, contentType as string)
    : parseStoredBody(decode(bytes), contentType)

async function parseMultipartBody(bytes: Buffer, contentType: string): Promise<WebhookBody> {
  const payload = await parseMultipart(bytes, contentType)
  return { text: JSON.stringify(payload), payload, isForm: true }
}

/** Parses a body that was stored, or that is not multipart. */
export function parseStoredBody(text: string, contentType: string | undefined): WebhookBody {
  const payload = parsePayload(text, 'object-or-array-or-form', contentType)
  return { text, payload, isForm: isMultipart(contentType) || (isForm(contentType) && !looksLikeJson(text)) }
}
