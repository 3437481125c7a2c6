// The request that mappings, templates, transforms and presets read.
import type { TemplateScope } from '../config/template/template.ts'
import { parseJsonField } from '../http/payload.ts'

export interface MappedRequest extends Omit<TemplateScope, 'item' | 'index'> {
  headers: Readonly<Record<string, string>>
  /** Whether the body was a form, whose fields are text. Absent: it was JSON. */
  isForm?: boolean
}

/** Reads fields of a form as JSON. It throws `invalid_request` for a field with other text. */
export function createFieldParser(names: readonly string[] | undefined): (request: MappedRequest) => MappedRequest {
  return (request) => {
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
