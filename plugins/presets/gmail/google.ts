// Calls Google's REST APIs with an access token.
import { setTimeout as delay } from 'node:timers/promises'
import { AuthError, clip, type Log } from 'svc-gateway/plugin'
import type { GetToken, Service } from './credentials.ts'
import type { Watch } from './settings.ts'

/** A refused call. Its message is Google's. */
export class GoogleError extends Error {
  override readonly name = 'GoogleError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export interface Call {
  service: Service
  /** Below the address of the API. */
  path: string
  query?: Readonly<Record<string, string>>
  /** Sent with POST, or with `method`. Absent: GET. */
  body?: object
  method?: string
  timeoutMs?: number
}

/** Resolves with the parsed reply. */
export type Google = (call: Call) => Promise<unknown>

interface GoogleDeps extends Pick<Watch, 'urls'> {
  getToken: GetToken
  signal: AbortSignal
  log: Log
}

/** How often a call is tried again after a 429. */
const maxWaits = 3
const longestWaitMs = 600_000

export function createGoogle({ urls, getToken, signal, log }: GoogleDeps): Google {
  async function send({ service, path, query = {}, body, method, timeoutMs = 30_000 }: Call, renew: boolean) {
    const url = new URL(urls[service].replace(/\/+$/, '') + path)
    for (const [key, value] of Object.entries(query)) url.searchParams.append(key, value)
    return await fetch(url, {
      method: method ?? (body ? 'POST' : 'GET'),
      headers: { authorization: `Bearer ${await getToken(service, { renew })}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
  }

  return async (call) => {
    let response = await send(call, false)
    if (response.status === 401) response = await send(call, true)
    for (let wait = 1; response.status === 429 && wait <= maxWaits; wait++) {
      const ms = retryAfterMs(response) ?? 1000 * 4 ** wait
      log.warn({ path: call.path, seconds: Math.round(ms / 1000) }, 'Google allows no more calls at the moment')
      await delay(ms, undefined, { signal, ref: false })
      response = await send(call, false)
    }
    const text = await response.text()
    if (response.ok) return text ? JSON.parse(text) : {}
    throw errorOf(response.status, text)
  }
}

function retryAfterMs({ headers }: Response): number | undefined {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  return seconds > 0 ? Math.min(seconds * 1000, longestWaitMs) : undefined
}

function errorOf(status: number, text: string): Error {
  const message = clip(/"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1] ?? `status ${status}`, 300)
  return status === 401
    ? new AuthError(`Google refuses the access token; to authorise again, run "svc-gateway gmail setup".`)
    : new GoogleError(status, `Google answered ${status}: ${message}`)
}
