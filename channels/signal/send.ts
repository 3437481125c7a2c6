// Sends one message with signal-cli, and finds out from the answer whether it arrived.
import { type OutboundMessage, type SendResult, type TextRange } from 'svc-gateway/plugin'
import { countOf, fieldsOf, listOf, resultOfError, resultOfResponse, textOf } from 'svc-gateway/kit'
import { type Call, methodNotFound, RpcError, StatusError } from './rpc.ts'

/** signal-cli answers when the message has reached every member of a group, which can take a while. */
const sendMs = 120_000

export async function sendMessage(
  call: Call,
  { to, text, ranges, file }: Pick<OutboundMessage, 'to' | 'text' | 'ranges' | 'file'>,
  signal: AbortSignal,
): Promise<SendResult> {
  if (file?.data.length === 0) return failed('permanent', 'Signal does not accept an empty file.')
  const params = {
    ...recipientOf(to),
    message: text,
    ...(ranges && { textStyle: ranges.map(toTextStyle) }),
    ...(file && { attachments: [dataUri(file)] }),
  }
  try {
    return resultOfAnswer(await call('send', params, AbortSignal.any([signal, AbortSignal.timeout(sendMs)])))
  } catch (error) {
    if (error instanceof RpcError) return resultOfRpcError(error)
    return error instanceof StatusError ? resultOfResponse(error.response) : resultOfError(error)
  }
}

const styles = { bold: 'BOLD', italic: 'ITALIC', strike: 'STRIKETHROUGH', code: 'MONOSPACE' } as const

/** signal-cli counts as JavaScript does, in UTF-16 code units. */
const toTextStyle = ({ style, start, length }: TextRange): string => `${start}:${length}:${styles[style]}`

/** A group's id is base64 and ends with `=`; a number or a UUID does not. */
export const recipientOf = (to: string): object => (to.endsWith('=') ? { groupId: to } : { recipient: [to] })

/** signal-cli takes anything else for the path of a file on its own machine. */
function dataUri({ name, type, data }: NonNullable<OutboundMessage['file']>): string {
  const mediaType = /^[\w.+-]+\/[\w.+-]+/.exec(type)?.[0] ?? 'application/octet-stream'
  return `data:${mediaType};filename=${encodeURIComponent(name)};base64,${Buffer.from(data).toString('base64')}`
}

/** Some members of a group may have missed a message that signal-cli reports as sent. */
function resultOfAnswer(answer: unknown): SendResult {
  const { timestamp, results } = fieldsOf(answer)
  const kinds = kindsOf(results)
  const missed = kinds.filter((kind) => kind === 'RATE_LIMIT_FAILURE' || kind === 'NETWORK_FAILURE').length
  if (missed > 0)
    return { outcome: 'unknown', detail: `${missed} of ${kinds.length} recipients did not get the message.` }
  const id = countOf(timestamp)
  if (id === undefined) return { outcome: 'unknown', detail: 'signal-cli answered in an unknown shape.' }
  return { outcome: 'sent', id: String(id) }
}

/** The codes are those of signal-cli; the negative thousands are those of JSON-RPC. */
function resultOfRpcError({ code, reason, response }: RpcError): SendResult {
  if (code === -1) return resultOfRefusal(response)
  if (code === -4) return failed('permanent', untrusted)
  if (code === -5) return resultOfRateLimit(response)
  if (code === -32602) return failed('auth', 'The account is not linked with signal-cli any more.')
  if (code === methodNotFound || code === -32600) return failed('permanent', 'signal-cli does not know this call.')
  if (reason.includes('AuthorizationFailedException'))
    return failed('auth', 'Signal has unlinked this device. Log in again.')
  // Among these is a rate limit that some recipients of a group have not hit: they got the message.
  return { outcome: 'unknown', detail: `signal-cli failed while it sent the message (error ${code}).` }
}

/** The message reached nobody; the results say why. */
function resultOfRefusal(response: unknown): SendResult {
  const kinds = kindsOf(fieldsOf(response)['results'])
  if (kinds.includes('NETWORK_FAILURE'))
    return { outcome: 'unknown', detail: 'The connection of signal-cli to Signal broke.' }
  if (kinds.includes('RATE_LIMIT_FAILURE')) return resultOfRateLimit(response)
  if (kinds.includes('IDENTITY_FAILURE')) return failed('permanent', untrusted)
  return failed('permanent', 'The recipient is not registered with Signal, or the account is not in this group.')
}

const untrusted =
  'The safety number of the recipient has changed. Verify it, then run "signal-cli trust" for the recipient.'

function resultOfRateLimit(response: unknown): SendResult {
  const results = listOf(fieldsOf(response)['results']).map(fieldsOf)
  const seconds = Math.max(0, ...results.map(({ retryAfterSeconds }) => Number(retryAfterSeconds) || 0))
  const needsCaptcha = results.some(({ token }) => textOf(token) !== undefined)
  const detail = needsCaptcha
    ? 'Signal limits this account until somebody solves a captcha: see "signal-cli submitRateLimitChallenge".'
    : 'Signal limits how fast this account may send.'
  const result = failed('rate', detail)
  return seconds > 0 ? { ...result, retryAfterMs: seconds * 1000 } : result
}

const kindsOf = (results: unknown): unknown[] => listOf(results).map((result) => fieldsOf(result)['type'])

const failed = (reason: 'permanent' | 'auth' | 'rate', detail: string) =>
  ({ outcome: 'failed', reason, detail }) as const
