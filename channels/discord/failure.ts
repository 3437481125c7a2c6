// What a failed call of Discord's API means. The library's errors hold the request, so nothing else of them is used.
import type { API } from '@discordjs/core'
import { entryOf, connectError, connectStatusError, resultOfError, resultOfResponse } from 'svc-gateway/kit'
import { AuthError, type SendResult } from 'svc-gateway/plugin'

/** The calls that the channel makes. */
export type DiscordApi = Pick<API, 'channels' | 'guilds' | 'interactions' | 'users'>

export interface Failure {
  /** The status of the answer. Absent: there was no answer. */
  status?: number
  /** Discord's own code for the reason. */
  code?: number
  /** Set if a rate limit is reached. */
  retryAfterMs?: number
}

export const refusedToken =
  'Discord refuses the token of the bot. Copy it again from the page "Bot" of the application, or reset it there.'

export function failureOf(error: unknown): Failure {
  const { url, status, code, retryAfter } = (error ?? {}) as Partial<Record<string, unknown>>
  // Only the errors of the library know the address.
  if (typeof url !== 'string') return {}
  return {
    ...(typeof status === 'number' && { status }),
    ...(typeof code === 'number' && { code }),
    ...(typeof retryAfter === 'number' && { retryAfterMs: Math.max(0, Math.ceil(retryAfter)) }),
  }
}

/** What `connect` throws when a call failed. */
export function errorOfFailure(error: unknown, apiRoot: string): Error {
  const service = { name: 'Discord', url: apiRoot, setting: 'apiRoot' }
  const { status, retryAfterMs } = failureOf(error)
  if (status === 401) return new AuthError(refusedToken)
  // A limit that the library keeps has no status.
  const answered = status ?? (retryAfterMs === undefined ? undefined : 429)
  if (answered === undefined) return connectError(error, service)
  return connectStatusError({ status: answered, retryAfterMs }, service)
}

/** The result of sending a message when the call failed. */
export function resultOfFailure(error: unknown): Exclude<SendResult, { outcome: 'sent' }> {
  const { status, code, retryAfterMs } = failureOf(error)
  if (retryAfterMs !== undefined)
    return { outcome: 'failed', reason: 'rate', detail: 'Discord asks to wait.', retryAfterMs }
  if (status === undefined) return resultOfError(error)
  const result = resultOfResponse({ status, headers: new Headers() })
  const numbers = `Discord answered ${status}${code === undefined ? '' : `, code ${code}`}.`
  const hint = entryOf(hints, String(code))
  const detail = hint === undefined ? numbers : `${hint} ${numbers}`
  // 403 is about one recipient; the token itself is valid.
  return status === 403 ? { outcome: 'failed', reason: 'permanent', detail } : { ...result, detail }
}

/** Discord's codes that an operator can do something about. */
const hints: Readonly<Record<string, string>> = {
  10_003: 'There is no channel with this id, or the bot cannot see it.',
  10_013: 'There is no user with this id.',
  40_005: 'The file is too large.',
  50_001: 'The bot cannot see this channel.',
  50_007: 'This user accepts no direct messages from the bot. They must share a server with it and allow them.',
  50_013: 'The bot may not write here. It needs the permission "Send Messages", also in threads, and "Attach Files".',
}
