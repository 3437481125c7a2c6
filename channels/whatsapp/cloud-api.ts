// Calls the Cloud API, and translates its errors.
import { type Json, type SendResult } from 'svc-gateway/plugin'
import { resultOfResponse } from 'svc-gateway/kit'
import type { CloudConfig } from './config.ts'

export interface CloudApi {
  /** Sends to an endpoint of the phone number, such as `messages`. */
  post(endpoint: string, body: Json | FormData): Promise<Response>
  /** Reads an object, such as a phone number or a file. */
  get(id: string): Promise<Response>
  /** Downloads a file from the address that Meta gave for it. */
  download(address: string, signal: AbortSignal): Promise<Response>
}

export const defaultRoot = 'https://graph.facebook.com'
const version = 'v23.0'

/** Longest time that a request may take. */
const requestMs = 30_000

/** Hosts that may get the access token, besides the API itself. */
const mediaHosts = /(^|\.)(fbsbx\.com|facebook\.com|whatsapp\.net)$/

export function createCloudApi(config: CloudConfig, closed: AbortSignal): CloudApi {
  const root = (config.apiRoot ?? defaultRoot).replace(/\/+$/, '')
  const headers = { authorization: `Bearer ${config.accessToken}` }
  const request = (url: string, options: RequestInit = {}): Promise<Response> =>
    fetch(url, {
      ...options,
      headers: { ...headers, ...options.headers },
      redirect: 'error',
      signal: AbortSignal.any([closed, AbortSignal.timeout(requestMs), ...(options.signal ? [options.signal] : [])]),
    })
  return {
    get: (id) => request(`${root}/${version}/${encodeURIComponent(id)}`),
    post(endpoint, body) {
      const isForm = body instanceof FormData
      return request(`${root}/${version}/${config.phoneNumberId}/${endpoint}`, {
        method: 'POST',
        body: isForm ? body : JSON.stringify(body),
        headers: isForm ? {} : { 'content-type': 'application/json' },
      })
    },
    async download(address, signal) {
      const { protocol, hostname, origin } = new URL(address)
      const isMeta = protocol === 'https:' && mediaHosts.test(hostname)
      if (!isMeta && origin !== new URL(root).origin) throw new Error(`files are not downloaded from ${hostname}`)
      return request(address, { signal })
    },
  }
}

type Unsent = Exclude<SendResult, { outcome: 'sent' }>
type Reason = Extract<SendResult, { outcome: 'failed' }>['reason']

/** Error codes of the Cloud API that say more than the status of the response. */
export const apiErrors: ReadonlyMap<number, [Reason, string]> = new Map([
  [4, ['rate', 'WhatsApp asks to slow down.']],
  [80_007, ['rate', 'WhatsApp asks to slow down.']],
  [130_429, ['rate', 'WhatsApp asks to slow down.']],
  [131_048, ['rate', 'WhatsApp limits this number, because people have blocked it or reported it.']],
  [131_056, ['rate', 'Too many messages to this recipient in a short time.']],
  [10, ['auth', 'The access token lacks a permission.']],
  [190, ['auth', 'The access token has expired.']],
  [131_005, ['auth', 'The access token lacks a permission.']],
  [131_016, ['transient', 'WhatsApp is unavailable at the moment.']],
  [131_026, ['permanent', 'The recipient cannot receive the message. Perhaps the number has no WhatsApp account.']],
  [131_030, ['permanent', 'The recipient is not in the list of test numbers.']],
  [
    131_047,
    [
      'permanent',
      'The recipient has not written in the last 24 hours. Until they write, WhatsApp accepts only message templates.',
    ],
  ],
])

/** The result of sending when the API answered with an error. Its text is left out, because it may hold numbers. */
export async function resultOfApiError(response: Response): Promise<Unsent> {
  const result = resultOfResponse(response)
  const body: unknown = await response.json().catch(() => undefined)
  const { error } = (body ?? {}) as { error?: { code?: unknown } }
  const code = Number(error?.code)
  const known = apiErrors.get(code)
  if (!known) return Number.isNaN(code) ? result : { ...result, detail: `The Cloud API refused it (code ${code}).` }
  const wait =
    'retryAfterMs' in result && result.retryAfterMs !== undefined ? { retryAfterMs: result.retryAfterMs } : {}
  return { outcome: 'failed', reason: known[0], detail: `${known[1]} (${code})`, ...wait }
}
