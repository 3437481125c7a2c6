// Posts activities to conversations, and tells what became of them.
import { AuthError, type SendResult } from 'svc-gateway/plugin'
import { resultOfError, resultOfResponse } from 'svc-gateway/kit'
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
  /** Deletes an activity of the bot. */
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
      return { outcome: 'sent', ...(typeof id === 'string' && { id }) }
    } catch (error) {
      return resultOfError(error)
    }
  }

  return {
    post: ({ activity, ...place }) => call(place, 'activities', { method: 'POST', body: JSON.stringify(activity) }),
    remove: ({ id, ...place }) => call(place, `activities/${encodeURIComponent(id)}`, { method: 'DELETE' }),
  }
}

/** Without a token nothing was sent. */
async function readToken(tokens: Tokens): Promise<string | SendResult> {
  try {
    return await tokens.get()
  } catch (error) {
    const detail = 'The bot has no access token.'
    return { outcome: 'failed', reason: error instanceof AuthError ? 'auth' : 'transient', detail }
  }
}

async function readRefusal(response: Response, discard: () => boolean): Promise<SendResult> {
  await response.body?.cancel()
  const result = resultOfResponse(response)
  // A token can be revoked before it expires, so the message is tried again with a new one.
  if (response.status === 401)
    return { outcome: 'failed', reason: discard() ? 'auth' : 'transient', detail: result.detail }
  // Teams answers so when two changes of a conversation meet, and then does not accept the message.
  if (response.status === 412) return { outcome: 'failed', reason: 'transient', detail: result.detail }
  return response.status === 403
    ? {
        outcome: 'failed',
        reason: 'permanent',
        detail: 'Teams refuses the message (403): the bot is not in the conversation.',
      }
    : result
}
