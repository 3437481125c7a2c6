// Proposes a mapping for an example request, with a cleaned sample of its payload and what the agent would read of it.
import { compileTemplate } from '../../config/template/template.ts'
import type { Schemes } from '../../config/schemes.ts'
import { isRecord } from '../../config/walk.ts'
import { type AuthProposal, proposeAuth, type ProposedAuth } from './curl-auth.ts'
import { proposeMessage } from './curl-message.ts'
import type { CurlRequest } from './curl-request.ts'
import { removeSecrets, variableOf } from './curl-secrets.ts'

export interface ProposedMapping {
  match: { path: string }
  name: string
  auth?: ProposedAuth
  jsonFields?: string[]
  idempotencyKey?: string
  messageTemplate: string
}

export interface Proposal extends Pick<AuthProposal, 'note'> {
  mapping: ProposedMapping
  /** The payload as a sample, without credentials. */
  payload: unknown
  /** The headers that the mapping reads. */
  headers: Record<string, string>
  /** What the agent reads of the sample. */
  message: string
  /** The fields of the payload that held credentials. */
  replaced: readonly string[]
}

export function proposeMapping(request: CurlRequest, name: string, schemes: Schemes): Proposal {
  const prefix = variableOf(name)
  const jsonFields = request.isForm ? findJsonFields(request.payload) : []
  const { payload, replaced } = removeSecrets({ ...request, payload: parseFields(request.payload, jsonFields) }, prefix)
  const { auth, note } = proposeAuth(request.headers, prefix, schemes)
  const [event, id] = [headerLike(request.headers, eventHeader), headerLike(request.headers, idHeader)]
  const fields = proposeMessage(payload, `\${${prefix}_`)
  const messageTemplate = [event && `Event: {{ headers.${event} }}`, fields].filter(Boolean).join('\n')
  const idField = Object.keys(payload as object).find((key) => /^(?:event|delivery|webhook)_?id$/i.test(key))
  const idempotencyKey = id === undefined ? idField && `{{ ${idField} }}` : `{{ headers.${id} }}`
  const headers = Object.fromEntries([event, id].flatMap((one) => (one ? [[one, request.headers[one] ?? '']] : [])))
  const scope = { payload, headers, query: {}, path: name, now: new Date(0).toISOString() }
  return {
    mapping: {
      match: { path: name },
      name: titleOf(name),
      ...(auth && { auth }),
      ...(jsonFields.length > 0 && { jsonFields }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      messageTemplate,
    },
    payload,
    headers,
    message: compileTemplate(messageTemplate)(scope),
    replaced,
    note,
  }
}

/** The header that names the event, such as `x-github-event`. */
const eventHeader = /(?:^|-)(?:event|event-type|event-key|topic|hook-resource)$/
/** The header with the id of the webhook, which a retry repeats. */
const idHeader = /(?:^|-)(?:delivery|delivery-id|event-id|webhook-id|request-uuid|idempotency-key)$/

const headerLike = (headers: CurlRequest['headers'], pattern: RegExp): string | undefined =>
  Object.keys(headers).find((name) => pattern.test(name) && /^[a-z\d-]+$/.test(name))

const titleOf = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' ')

/** Fields of a form that hold JSON text, such as `payload`. */
const findJsonFields = (payload: object): string[] =>
  Object.entries(payload).flatMap(([key, value]) => (parseText(value) === undefined ? [] : [key]))

const parseFields = (payload: object, names: readonly string[]): object =>
  isRecord(payload) && names.length > 0
    ? { ...payload, ...Object.fromEntries(names.map((name) => [name, parseText(payload[name])])) }
    : payload

function parseText(value: unknown): object | undefined {
  try {
    const parsed: unknown = typeof value === 'string' && /^\s*[{[]/.test(value) ? JSON.parse(value) : undefined
    return typeof parsed === 'object' && parsed !== null ? parsed : undefined
  } catch {
    return undefined
  }
}
