// Reads the bodies that webhooks of any service send: JSON, a form, which may be multipart, or other text.
import { GatewayError } from '../errors.ts'
import { decode } from './charset.ts'
import { isMultipart, parseMultipart } from './multipart.ts'
import { isForm, looksLikeJson, parsePayload, withoutMark } from './payload.ts'

export interface WebhookBody {
  /** The body as it is stored: of a multipart body the fields as JSON, so that no content of files is stored. */
  text: string
  /** Undefined if there is a `problem`. */
  payload: object | undefined
  /** Whether it is a form, whose fields are text. */
  isForm: boolean
  /** The whole text, if its type is neither JSON nor a form. */
  plainText?: string
  /** Why `plainText` is no JSON. */
  problem?: GatewayError
}

export async function parseWebhookBody(bytes: Buffer, contentType: string | undefined): Promise<WebhookBody> {
  if (!isMultipart(contentType) || bytes.length === 0) return parseStoredBody(decode(bytes, contentType), contentType)
  const payload = await parseMultipart(bytes, contentType as string)
  return { text: JSON.stringify(payload), payload, isForm: true }
}

/** Parses a body that was stored, or that is not multipart. */
export function parseStoredBody(text: string, contentType: string | undefined): WebhookBody {
  const isFormBody = isMultipart(contentType) || (isForm(contentType) && !looksLikeJson(text))
  const parse = () => parsePayload(text, 'object-or-array-or-form', contentType)
  if (isFormBody || !isOtherText(text, contentType)) return { text, payload: parse(), isForm: isFormBody }
  const other = { text, isForm: false, plainText: withoutMark(text) }
  try {
    return { ...other, payload: parse() }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { ...other, payload: undefined, problem: error.code === 'invalid_json' ? createTextError() : error }
  }
}

/** A body without a type is JSON if it looks like it. */
const isOtherText = (text: string, contentType = ''): boolean =>
  contentType.trim() === '' ? !looksLikeJson(text) : !isForm(contentType) && !/[/+]json\s*(?:;|$)/i.test(contentType)

const createTextError = () =>
  new GatewayError(
    'invalid_json',
    'The body is not valid JSON; send UTF-8 encoded JSON, or set body: "text" in the mapping to accept other text.',
  )
