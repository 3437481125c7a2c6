// Calls the Cloud API, and translates its errors.
import { type Json, type SendResult } from 'svc-gateway/plugin'
import { fetchFile, fieldsOf, fieldsOfJson, listOf, resultOfResponse } from 'svc-gateway/kit'
import type { CloudConfig } from './config.ts'

export interface CloudApi {
  /** Sends to an edge, such as `messages`, of an object; by default of the phone number. */
  post(edge: string, body: Json | FormData, id?: string): Promise<Response>
  /** Reads an object, such as a phone number or a file, or one of its edges. */
  get(id: string, part?: { fields?: string; edge?: string }): Promise<Response>
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
  const addressOf = (id: string): string => `${root}/${version}/${encodeURIComponent(id)}`
  const request = (url: string, options: RequestInit = {}): Promise<Response> =>
    fetch(url, {
      ...options,
      headers: { ...headers, ...options.headers },
      redirect: 'error',
      signal: AbortSignal.any([closed, AbortSignal.timeout(requestMs), ...(options.signal ? [options.signal] : [])]),
    })
  return {
    get: (id, { fields, edge } = {}) =>
      request(`${addressOf(id)}${edge ? `/${edge}` : ''}${fields ? `?fields=${fields}` : ''}`),
    post(edge, body, id = config.phoneNumberId) {
      const isForm = body instanceof FormData
      return request(`${addressOf(id)}/${edge}`, {
        method: 'POST',
        body: isForm ? body : JSON.stringify(body),
        headers: isForm ? {} : { 'content-type': 'application/json' },
      })
    },
    async download(address, signal) {
      const isOwn = ({ protocol, hostname, origin }: URL): boolean =>
        (protocol === 'https:' && mediaHosts.test(hostname)) || origin === new URL(root).origin
      return await fetchFile(address, { isOwn, headers, signal: AbortSignal.any([closed, signal]) })
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
  [200, ['auth', 'The access token lacks a permission.']],
  [131_005, ['auth', 'The access token lacks a permission.']],
  [131_016, ['transient', 'WhatsApp is unavailable at the moment.']],
  [131_026, ['permanent', 'The recipient cannot receive the message. Perhaps the number has no WhatsApp account.']],
  [131_053, ['permanent', 'WhatsApp does not accept this file: its type or its size is not supported.']],
  [131_062, ['permanent', 'WhatsApp sends this message only to a phone number.']],
  [133_005, ['permanent', 'The PIN is wrong.']],
  [133_006, ['permanent', 'The number must first be verified in the WhatsApp Manager.']],
  [133_008, ['permanent', 'A wrong PIN was entered too often. Wait as long as the WhatsApp Manager says.']],
  [133_009, ['permanent', 'The PIN was entered too fast. Wait a few minutes.']],
  [133_010, ['auth', 'The phone number is not registered. Log in with: svc-gateway channels login whatsapp']],
  [133_015, ['permanent', 'The number was deleted a moment ago. Wait five minutes.']],
  [133_016, ['permanent', 'The number was registered too often. Wait three days.']],
  [131_030, ['permanent', 'The recipient is not in the list of test numbers.']],
  [
    131_047,
    [
      'permanent',
      'The recipient has not written in the last 24 hours. Until they write, WhatsApp accepts only message templates.',
    ],
  ],
])

/** An answer of the API with an error. */
interface ApiError {
  /** Undefined if the answer is not one of the API. */
  code: number | undefined
  detail: string
  reason: Reason | undefined
  retryAfterMs?: number | undefined
}

/** Its text is left out, because it may hold numbers. */
export async function readApiError(response: Response): Promise<ApiError> {
  const result = resultOfResponse(response)
  const { code: given } = fieldsOf(fieldsOf(await response.json().catch(() => undefined))['error'])
  const code = typeof given === 'number' ? given : undefined
  // Limits of an account are answered with 400 or 403.
  const limit = resultOfResponse({ status: 429, headers: response.headers })
  const retryAfterMs = 'retryAfterMs' in limit ? limit.retryAfterMs : readUsage(response.headers)
  const known = apiErrors.get(code ?? Number.NaN)
  if (known) return { code, reason: known[0], detail: `${known[1]} (${code})`, retryAfterMs }
  const detail = code === undefined ? result.detail : `The Cloud API refused it (code ${code}).`
  return { code, detail, reason: result.outcome === 'failed' ? result.reason : undefined, retryAfterMs }
}

/** How long a limit lasts: Meta says it in minutes, in a header with the usage of each account. */
function readUsage(headers: Headers): number | undefined {
  const usage = Object.values(fieldsOfJson(headers.get('x-business-use-case-usage') ?? ''))
  const minutes = usage.flatMap(listOf).map((entry) => Number(fieldsOf(entry)['estimated_time_to_regain_access']))
  const longest = Math.max(0, ...minutes.filter(Number.isFinite))
  return longest === 0 ? undefined : longest * 60_000
}

/** The result of sending when the API answered with an error. */
export async function resultOfApiError(response: Response): Promise<Unsent> {
  const { detail, reason, retryAfterMs } = await readApiError(response)
  if (reason === undefined) return { outcome: 'unknown', detail }
  return { outcome: 'failed', reason, detail, ...(retryAfterMs !== undefined && { retryAfterMs }) }
}
