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

export async function parseWebhookBody(bytes: Buffer, contentType: string | undefined): Promise<WebhookBody> {
  if (!isMultipart(contentType) || bytes.length === 0) return parseStoredBody(decode(bytes), contentType)
  const payload = await parseMultipart(bytes, contentType as string)
  return { text: JSON.stringify(payload), payload, isForm: true }
}

/** Parses a body that was stored, or that is not multipart. */
export function parseStoredBody(text: string, contentType: string | undefined): WebhookBody {
  const payload = parsePayload(text, 'object-or-array-or-form', contentType)
  return { text, payload, isForm: isMultipart(contentType) || (isForm(contentType) && !looksLikeJson(text)) }
}
