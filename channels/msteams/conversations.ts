// Posts activities to conversations, and tells what became of them.
import { AuthError, type SendResult } from 'svc-gateway/plugin'
import { entryOf, fieldsOf, resultOfError, resultOfResponse } from 'svc-gateway/kit'
import type { Tokens } from './tokens.ts'

interface Place {
  serviceUrl: string
  to: string
  /** The message that a thread of a channel begins with. */
  threadId?: string | undefined
}

interface Post extends Place {
  activity: object
}

export interface Conversations {
  post(post: Post): Promise<SendResult>
  /** Deletes an activity of the bot, by the `id` of its result. */
  remove(place: Place & { id: string }): Promise<SendResult>
}

const timeoutMs = 25_000

/**
 * Not sent with Microsoft's library: its client neither passes on how long to wait, nor tells a refused connection from
 * a lost answer.
 */
export function createConversations(tokens: Tokens, signal: AbortSignal): Conversations {
  async function call({ serviceUrl, to, threadId }: Place, path: string, init: RequestInit): Promise<SendResult> {
    const token = await readToken(tokens)
    if (typeof token !== 'string') return token
    const conversation = encodeURIComponent(threadId === undefined ? to : `${to};messageid=${threadId}`)
    try {
      const response = await fetch(`${serviceUrl.replace(/\/+$/, '')}/v3/conversations/${conversation}/${path}`, {
        ...init,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      })
      if (response.status !== 401) tokens.confirm()
      if (!response.ok) return await readRefusal(response, () => tokens.discard(token))
      const { id } = (await response.json().catch(() => ({}))) as { id?: unknown }
      // An id of Teams is a time, and unique only in its conversation.
      return { outcome: 'sent', ...(typeof id === 'string' && { id: `${to}/${id}` }) }
    } catch (error) {
      return resultOfError(error)
    }
  }

  return {
    post: ({ activity, ...place }) => call(place, 'activities', { method: 'POST', body: JSON.stringify(activity) }),
    remove: ({ id, ...place }) =>
      call(place, `activities/${encodeURIComponent(id.slice(place.to.length + 1))}`, { method: 'DELETE' }),
  }
}

/** Without a token nothing was sent. */
async function readToken(tokens: Tokens): Promise<string | SendResult> {
  try {
    return await tokens.get()
  } catch (error) {
    const detail = 'The bot has no access token.'
    const { retryAfterMs } = error as { retryAfterMs?: number }
    return { outcome: 'failed', reason: error instanceof AuthError ? 'auth' : 'transient', detail, retryAfterMs }
  }
}

/** Teams did not accept the message, and its documentation says to try again. */
const passing: ReadonlySet<number> = new Set([412, 502, 503, 504])

async function readRefusal(response: Response, discard: () => boolean): Promise<SendResult> {
  const { status, headers } = response
  const body: unknown = await response.json().catch(() => undefined)
  const result = resultOfResponse({ status: passing.has(status) ? 503 : status, headers })
  const detail = `The platform answered ${status}.`
  // A token can be revoked before it expires, so the message is tried again with a new one.
  if (status === 401) return { outcome: 'failed', reason: discard() ? 'auth' : 'transient', detail }
  return status === 403
    ? { outcome: 'failed', reason: 'permanent', detail: explainRefusal(fieldsOf(fieldsOf(body)['error'])['code']) }
    : { ...result, detail }
}

function explainRefusal(code: unknown): string {
  const known = typeof code === 'string' && /^[A-Za-z]{1,60}$/.test(code) ? code : undefined
  const reason = entryOf(refusals, known ?? '')
  const answer = known === undefined ? '403' : `403, ${known}`
  return `Teams refuses the message${reason === undefined ? '' : `: ${reason}`} (${answer}).`
}

/** From Microsoft's table of the status codes of bots. */
const refusals: Readonly<Record<string, string>> = {
  BotDisabledByAdmin: 'an administrator has blocked the app',
  BotNotInConversationRoster: 'the bot is not in the conversation; add the app there again',
  ConversationBlockedByUser: 'the person has blocked the bot',
  ForbiddenOperationException: 'the app is not installed for this person',
  InvalidBotApiHost:
    'the tenant is one of the government; set serviceUrl to https://smba.infra.gcc.teams.microsoft.com',
  MessageWritesBlocked: 'the person has blocked the bot or removed the app',
  NotEnoughPermissions: 'the app lacks a permission',
}
