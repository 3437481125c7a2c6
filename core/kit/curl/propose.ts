// Proposes a mapping for an example request, with a cleaned sample of its payload and what the agent would read of it.
import { readJson } from '../../json.ts'
import { isSecretName } from '../secret-names.ts'
import { type FindScheme, proposeAuth, type ProposedAuth } from './auth.ts'
import type { CurlRequest } from './read-curl.ts'
import { lastName, removeSecrets, variableOf } from './secrets.ts'

/** A mapping for the webhook of a curl command, with a sample of it. */
export interface CurlProposal {
  mapping: {
    match: { path: string }
    name: string
    auth?: ProposedAuth
    body?: 'text'
    jsonFields?: string[]
    idempotencyKey?: string
    messageTemplate: string
  }
  /** The payload as a sample, without credentials. */
  payload: unknown
  /** The headers that the mapping reads. */
  headers: Record<string, string>
  /** What the agent reads of the sample. */
  message: string
  /** Sentences about the authentication of the sender, what to check, and what was left out. */
  notes: readonly string[]
}

/**
 * Proposes a mapping for the request of a curl command. It holds no credential: each is an environment variable.
 * @param options `name` is that of the hook; `findScheme` returns the scheme that reads one of the headers
 */
export async function proposeMapping(
  request: CurlRequest,
  { name, findScheme }: { name: string; findScheme: FindScheme },
): Promise<CurlProposal> {
  const prefix = variableOf(name)
  const jsonFields = request.isForm
    ? Object.entries(request.payload).flatMap(([key, value]) => (parseText(value) === undefined ? [] : [key]))
    : []
  const parsed = jsonFields.map((key) => [key, parseText((request.payload as Fields)[key])])
  const whole = parsed.length > 0 ? { ...request.payload, ...Object.fromEntries(parsed) } : request.payload
  const { payload, replaced } = removeSecrets({ ...request, payload: whole }, prefix)
  const headerLike = (pattern: RegExp): string | undefined =>
    Object.keys(request.headers).find((one) => pattern.test(one) && /^[a-z\d-]+$/.test(one))
  const [event, id] = [headerLike(eventHeader), headerLike(idHeader)]
  const { auth, note } = await proposeAuth(request.headers, prefix, findScheme)
  const headers = Object.fromEntries([event, id].flatMap((one) => (one ? [[one, request.headers[one] ?? '']] : [])))
  const idField = Object.keys(payload as object).find((key) => /^(?:event|delivery|webhook)_?id$/i.test(key))
  const idempotencyKey = id === undefined ? idField && `{{ ${idField} }}` : `{{ headers.${id} }}`
  const fields = [
    ...(event ? [{ label: 'Event', path: `headers.${event}`, value: headers[event] }] : []),
    ...chooseFields(payload, `\${${prefix}_`),
  ]
  const write = (show: (field: (typeof fields)[number]) => string): string =>
    fields.map((field) => `${field.label}: ${show(field)}`).join('\n')
  return {
    mapping: {
      match: { path: name },
      name: name.charAt(0).toUpperCase() + name.slice(1).replaceAll('-', ' '),
      ...(auth && { auth }),
      ...(request.isText && { body: 'text' as const }),
      ...(jsonFields.length > 0 && { jsonFields }),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      messageTemplate: write(({ path }) => `{{ ${path} }}`),
    },
    payload,
    headers,
    message: write(({ value }) => String(value)),
    notes: [note, ...describeLeft(request.headers, replaced)],
  }
}

function describeLeft(headers: CurlRequest['headers'], replaced: readonly string[]): string[] {
  const left = [...Object.keys(headers).filter(isSecretName), ...replaced.map((field) => `the field ${field}`)]
  return left.length > 0 ? [`These credentials of the command were not copied: ${left.join(', ')}.`] : []
}

type Fields = Readonly<Record<string, unknown>>

/** The header that names the event, such as `x-github-event`. */
const eventHeader = /(?:^|-)(?:event|event-type|event-key|topic|hook-resource)$/
/** The header with the id of the webhook, which a retry repeats. */
const idHeader = /(?:^|-)(?:delivery|delivery-id|event-id|webhook-id|request-uuid|idempotency-key)$/

/** A field of a form that holds JSON text, such as `payload`. */
function parseText(value: unknown): object | undefined {
  try {
    return typeof value === 'string' && /^\s*[{[]/.test(value) ? (readJson(value) as object) : undefined
  } catch {
    return undefined
  }
}

// ── The message: the fields of a payload that a reader needs first ──────────────────────────────

/** Words that name what a reader wants to know, most wanted first. */
const telling = (
  'event event_type type action topic status state severity level priority title subject name summary message text ' +
  'description body content reason error amount total currency email from user username author number count branch ' +
  'environment host service url html_url link'
).split(' ')

const [most, fewest] = [8, 3]

interface Leaf {
  keys: readonly string[]
  value: unknown
}

/** @param placeholder begins a value that stands for a secret */
function chooseFields(payload: unknown, placeholder: string) {
  const leaves = [...listLeaves(payload, [])].filter(({ value }) => !String(value).includes(placeholder))
  const ranked = leaves.map(({ keys, value }) => ({ keys, value, rank: rankOf(keys) }))
  const told = ranked.filter(({ rank }) => rank < Infinity).toSorted((a, b) => a.rank - b.rank)
  const chosen = new Set(told.length < fewest ? [...told, ...ranked].slice(0, most) : told.slice(0, most))
  return ranked
    .filter((leaf) => chosen.has(leaf))
    .map(({ keys, value }) => ({ label: labelOf(keys), path: pathOf(keys), value }))
}

/** Texts and numbers that are not blank. Of a list, the first element stands for all. */
function* listLeaves(value: unknown, keys: readonly string[]): Iterable<Leaf> {
  if (keys.length > 5) return
  if (Array.isArray(value)) yield* listLeaves(value[0], [...keys, '0'])
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) yield* listLeaves(inner, [...keys, key])
  else if (typeof value === 'number' || typeof value === 'bigint' || (typeof value === 'string' && value.trim() !== ''))
    yield { keys, value }
}

/** The word counts more than the depth, so that `data.title` comes before `id`. Lower is better. */
function rankOf(keys: Leaf['keys']): number {
  const rank = telling.indexOf(
    lastName(keys)
      .replaceAll(/(?<=[a-z\d])(?=[A-Z])|-/g, '_')
      .toLowerCase(),
  )
  return rank === -1 ? Infinity : rank + 10 * keys.length
}

/** `order.customer_name` → `Order customer name` */
function labelOf(keys: Leaf['keys']): string {
  const names = keys.filter((key) => !/^\d+$/.test(key)).slice(-2)
  const words = names
    .join(' ')
    .replaceAll(/(?<=[a-z\d])(?=[A-Z])|[^\p{L}\p{N}]+/gu, ' ')
    .trim()
    .toLowerCase()
  return words === '' ? 'Value' : words.charAt(0).toUpperCase() + words.slice(1)
}

/** Names that mean something else at the start of an expression. */
const roots: ReadonlySet<string> = new Set(['payload', 'headers', 'query', 'path', 'now', 'item', 'index'])

/** `["a", "0", "b c"]` → `a[0]["b c"]` */
function pathOf(keys: Leaf['keys']): string {
  const [first = ''] = keys
  const isPlain = (key: string): boolean => /^[A-Za-z_][\w-]*$/.test(key)
  const begin = isPlain(first) && !roots.has(first) ? '' : 'payload'
  return keys.reduce((path, key) => {
    if (/^\d+$/.test(key)) return `${path}[${key}]`
    if (!isPlain(key)) return `${path}[${key.includes('"') ? `'${key}'` : `"${key}"`}]`
    return path === '' ? key : `${path}.${key}`
  }, begin)
}
