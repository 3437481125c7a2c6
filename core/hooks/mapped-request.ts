// The request that mappings, templates, transforms and presets read.
import type { MappingConfig } from '../config/schema/schema.ts'
import type { TemplateScope } from '../config/template/template.ts'
import type { GatewayError } from '../errors.ts'
import { parseJsonField } from '../http/payload.ts'
import { parseStoredBody } from '../http/webhook-body.ts'
import { visibleHeaders, visibleQuery } from '../kit/secret-names.ts'
import type { StoredRequest } from '../store/store.ts'

export interface MappedRequest extends Omit<TemplateScope, 'item' | 'index'> {
  headers: Readonly<Record<string, string>>
  /** The headers that were sent several times. Node joins their values or keeps the first. */
  repeatedHeaders?: readonly string[]
  /** Whether the body was a form, whose fields are text. Absent: it was JSON. */
  isForm?: boolean
  /** The whole body, if its type is neither JSON nor a form. */
  plainText?: string | undefined
  /** Why that body is no JSON. */
  problem?: GatewayError | undefined
}

interface StoredBody {
  rawBody: string
  /** Absent: the one that the sender named. */
  contentType?: string | undefined
  /** Headers that hold a secret or a signature. */
  hiddenHeaders: readonly string[]
}

/** Reads a stored request as if it had just come in. Throws `invalid_request` if its body cannot be read. */
export function readStoredRequest(
  { hook, headers, query }: Pick<StoredRequest, 'hook'> & Record<'headers' | 'query', unknown>,
  { rawBody, hiddenHeaders, ...given }: StoredBody,
): MappedRequest {
  // Node reads their names in lower case; those of an operator or of a sample may have capitals.
  const received = Object.fromEntries(
    Object.entries(headers as Record<string, string>).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const contentType = 'contentType' in given ? given.contentType : received['content-type']
  const { text: _text, ...body } = parseStoredBody(rawBody, contentType)
  return {
    ...body,
    payload: body.payload,
    headers: visibleHeaders(received, hiddenHeaders),
    query: visibleQuery(query as Record<string, unknown>),
    path: hook,
    now: new Date().toISOString(),
  }
}

/**
 * Reads a body as a mapping wants it: other text as `{ text }`, and fields of a form as JSON. Throws `invalid_request`
 * or `invalid_json` if the body cannot be read so.
 */
export function createBodyReader({
  body,
  jsonFields: names,
}: Pick<MappingConfig, 'body' | 'jsonFields'>): (request: MappedRequest) => MappedRequest {
  return ({ plainText, problem, ...request }) => {
    if (body === 'text' && plainText !== undefined) return { ...request, payload: { text: plainText } }
    if (problem) throw problem
    if (names === undefined || !request.isForm) return request
    const payload = { ...(request.payload as Record<string, unknown>) }
    for (const name of names) if (Object.hasOwn(payload, name)) payload[name] = parseField(payload[name], name)
    return { ...request, payload }
  }
}

/** A repeated field is a list. A blank field has no JSON text, and a file stays as it is. */
function parseField(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => parseField(item, name))
  return typeof value === 'string' && value.trim() ? parseJsonField(value, name) : value
}
