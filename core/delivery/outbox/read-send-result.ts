// Checks what a channel's `send` returned, which may be anything if the plugin is faulty.
import type { Log, SendResult } from '../../plugin/plugin.ts'

const reasons: ReadonlySet<unknown> = new Set(['permanent', 'auth', 'rate', 'transient'])

const expected =
  "send must return { outcome: 'sent', id? }, " +
  "{ outcome: 'failed', reason: 'permanent' | 'auth' | 'rate' | 'transient', detail, retryAfterMs?, resetAt? } " +
  "or { outcome: 'unknown', detail }"

export function readSendResult(answer: unknown, log: Log): SendResult {
  const result = (typeof answer === 'object' && answer !== null ? answer : {}) as Partial<Record<string, unknown>>
  const { outcome, reason, id } = result
  const detail = typeof result['detail'] === 'string' ? result['detail'] : 'The channel did not say why.'
  const fault = faultOf(answer, result)
  if (fault !== undefined) log.error({ returned: fault }, expected)
  if (outcome === 'sent') return { outcome, ...(isId(id) && { id: String(id) }) }
  if (outcome === 'failed' && reasons.has(reason))
    return { ...(result as Extract<SendResult, { outcome: 'failed' }>), detail }
  return { outcome: 'unknown', detail: outcome === 'unknown' ? detail : 'The channel returned an invalid result.' }
}

/** What is wrong with the result. It names no text, which may be private. */
function faultOf(answer: unknown, result: Partial<Record<string, unknown>>): string | undefined {
  const { outcome, reason, id, detail, retryAfterMs, resetAt } = result
  if (typeof answer !== 'object' || answer === null) return answer === null ? 'null' : typeof answer
  if (outcome === 'sent') return id === undefined || isId(id) ? undefined : `id: ${typeof id}`
  if (outcome !== 'failed' && outcome !== 'unknown') return `outcome: ${nameOf(outcome)}`
  if (outcome === 'failed' && !reasons.has(reason)) return `reason: ${nameOf(reason)}`
  if (typeof detail !== 'string') return `detail: ${typeof detail}`
  if (retryAfterMs !== undefined && !(typeof retryAfterMs === 'number' && retryAfterMs >= 0))
    return `retryAfterMs: ${nameOf(retryAfterMs)}`
  return resetAt === undefined || isTimeInMs(resetAt) ? undefined : `resetAt: ${nameOf(resetAt)}, not milliseconds`
}

/** Platforms write times in seconds, too, which would be in 1970. */
const isTimeInMs = (time: unknown): boolean => typeof time === 'number' && time > 1e11

const nameOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? JSON.stringify(String(value).slice(0, 40)) : typeof value

const isId = (value: unknown): value is string | number => typeof value === 'string' || typeof value === 'number'
