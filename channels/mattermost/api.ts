// Calls the REST API.
import { fetchFile } from 'svc-gateway/kit'

/** An answer with an error status. Its message holds no text of the server, since that may repeat a message. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly status: number
  readonly headers: Headers
  /** The server's own code of the error, such as `api.post.create_post.root_id.app_error`. */
  readonly code: string | undefined

  constructor({ status, headers }: Response, code: string | undefined) {
    super(`Mattermost answered ${status}${code === undefined ? '' : ` (${code})`}.`)
    this.status = status
    this.headers = headers
    this.code = code
  }
}

export interface Api {
  /** @param path below `/api/v4/`. Rejects with a `StatusError` unless the answer is 2xx. */
  request(path: string, options?: { body?: FormData | object }): Promise<Response>
  /** The server may keep files elsewhere, and redirect to them. */
  download(path: string, signal: AbortSignal): Promise<Response>
  get<Value>(path: string): Promise<Value>
  post<Value>(path: string, body: FormData | object): Promise<Value>
  socketUrl: string
}

/** How long one call may take. Its outcome is unknown afterwards. */
const callMs = 25_000

export function createApi({ baseUrl, botToken }: { baseUrl: string; botToken: string }): Api {
  const root = new URL('api/v4/', baseUrl.endsWith('/') ? baseUrl : `${baseUrl}/`)
  const headers = { authorization: `Bearer ${botToken}` }

  const request: Api['request'] = async (path, { body } = {}) => {
    const response = await fetch(new URL(path, root), {
      headers: body && !(body instanceof FormData) ? { ...headers, 'content-type': 'application/json' } : headers,
      ...(body && { method: 'POST', body: body instanceof FormData ? body : JSON.stringify(body) }),
      // A redirect to another address would turn a POST into a GET.
      redirect: 'manual',
      signal: AbortSignal.timeout(callMs),
    })
    if (!response.ok) throw new StatusError(response, await codeOf(response))
    return response
  }

  return {
    request,
    download: (path, signal) =>
      fetchFile(new URL(path, root).href, { isOwn: ({ origin }) => origin === root.origin, headers, signal }),
    get: async <Value>(path: string) => (await (await request(path)).json()) as Value,
    post: async <Value>(path: string, body: FormData | object) =>
      (await (await request(path, { body })).json()) as Value,
    socketUrl: new URL('websocket', root).href.replace(/^http/, 'ws'),
  }
}

/** Some errors are plain text, such as the one of the rate limit. */
async function codeOf(response: Response): Promise<string | undefined> {
  const body = (await response.json().catch(() => undefined)) as { id?: unknown } | null | undefined
  return typeof body?.id === 'string' && /^[\w.-]{1,100}$/.test(body.id) ? body.id : undefined
}

/** Whether an answer says that asking again does not help. A refused token shows when the account connects again. */
export const isFinal = (error: unknown): boolean =>
  error instanceof StatusError && error.status >= 400 && error.status < 500 && ![401, 429].includes(error.status)
