// Calls the control API. Its types are generated, so a call that does not fit a route fails the type check.
import { readJson } from './read-json.ts'
import type { Operations } from './schema.ts'

export type OperationName = keyof Operations

/** What an operation returns. */
export type Reply<Name extends OperationName> = Operations[Name]['reply']

/** One item of a list that an operation returns. */
export type Item<Name extends OperationName> = Reply<Name> extends { items: (infer One)[] } ? One : never

type Part<Key extends string, Given> = Given extends undefined
  ? unknown
  : Record<string, never> extends Given
    ? { [key in Key]?: Given }
    : { [key in Key]: Given }

export type CallOptions<Name extends OperationName> = Part<'path', Operations[Name]['path']> &
  Part<'query', Operations[Name]['query']> &
  Part<'body', Operations[Name]['body']> &
  Part<'headers', Operations[Name]['headers']> & { signal?: AbortSignal }

export type Call = <Name extends OperationName>(
  name: Name,
  ...options: Record<string, never> extends CallOptions<Name> ? [CallOptions<Name>?] : [CallOptions<Name>]
) => Promise<Reply<Name>>

/** Why a call failed. Its message is a sentence for the reader. */
export class ApiError extends Error {
  readonly status: number
  /** The gateway's own code, such as `not_found`; `unreachable` when there was no response. */
  readonly type: string

  constructor(status: number, type: string, message: string) {
    super(message)
    this.status = status
    this.type = type
  }
}

interface ClientDeps {
  /** The address of the page. All URLs are relative to it, so that a proxy may add a path. */
  base: string
  credential(): string | undefined
  /** Called when the gateway refuses the credential. */
  onUnauthorized(): void
}

interface AnyOptions {
  path?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string | number | undefined>>
  headers?: Readonly<Record<string, string | undefined>>
  body?: unknown
  signal?: AbortSignal
}

/** A view that waits for a connection that is dead would never show anything again. */
const maxReadMs = 30_000

export function createClient({ base, credential, onUnauthorized }: ClientDeps): Call {
  const call = async (name: string, options: AnyOptions = {}): Promise<unknown> => {
    const [method = 'GET', template = ''] = name.split(' ')
    const given = options.signal ? [options.signal] : []
    const limit = method === 'GET' ? [AbortSignal.timeout(maxReadMs)] : []
    const response = await send(urlOf(base, template, options), {
      method,
      headers: headersOf(options, credential()),
      ...(method !== 'GET' && { body: JSON.stringify(options.body ?? {}) }),
      signal: AbortSignal.any([...given, ...limit]),
    }).catch((error: unknown) => {
      if (options.signal?.aborted) throw error
      throw unreachable()
    })
    const reply: unknown = await response
      .text()
      .then(readJson)
      .catch(() => undefined)
    if (reply === undefined && limit[0]?.aborted) throw unreachable()
    if (response.ok) return reply
    if (response.status === 401 && credential() !== undefined) onUnauthorized()
    throw errorOf(response, reply)
  }
  return call as Call
}

const send = (url: URL, init: RequestInit): Promise<Response> =>
  fetch(url, { cache: 'no-store', credentials: 'omit', redirect: 'error', ...init })

const unreachable = (): ApiError => new ApiError(0, 'unreachable', 'The gateway cannot be reached.')

function urlOf(base: string, template: string, { path = {}, query = {} }: AnyOptions): URL {
  const relative = template
    .slice(1)
    .replaceAll(/\{(\w+)\}/g, (_, key: string) => encodeURIComponent((path[key] ?? '').toWellFormed()))
  const url = new URL(relative, base)
  for (const [key, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(key, String(value))
  return url
}

function headersOf({ headers = {} }: AnyOptions, credential: string | undefined): Headers {
  const given = Object.entries(headers).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const result = new Headers(given)
  result.set('content-type', 'application/json')
  if (credential !== undefined) result.set('authorization', `Bearer ${toByteString(credential)}`)
  return result
}

/** A header holds bytes: other characters than ASCII are sent as UTF-8. */
const toByteString = (text: string): string => String.fromCharCode(...new TextEncoder().encode(text))

function errorOf(response: Response, reply: unknown): ApiError {
  const { error } = (reply ?? {}) as { error?: { type?: string; message?: string } }
  const message = error?.message ?? `The gateway, or a proxy before it, answered with status ${response.status}.`
  return new ApiError(response.status, error?.type ?? 'unknown', message)
}
