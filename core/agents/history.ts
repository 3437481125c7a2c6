// The part of a transcript that a model gets to read again: the newest turns that fit, whole.
import type { Json } from '../plugin.ts'

export interface HistoryLimits {
  /** Most turns; a turn begins with a user message. */
  turns: number
  /** Most tokens, by estimate. */
  tokens: number
}

type TranscriptMessage = { readonly role: string; readonly content: Json } & { readonly [key: string]: Json }

/**
 * Picks whole turns, newest first, so that a tool's result is never parted from its call and nothing begins with an
 * answer. A turn that is too long as a whole is kept without what its tools were asked and said; if that is too long
 * too, history ends there.
 */
export function boundHistory(messages: readonly Json[], { turns, tokens }: HistoryLimits): Json[] {
  const picked: TranscriptMessage[][] = []
  let left = tokens
  for (const turn of splitTurns(messages).toReversed()) {
    const fitting =
      picked.length < turns
        ? [turn, turn.flatMap(withoutTools)].find((version) => estimateTokens(version) <= left)
        : undefined
    if (!fitting) break
    left -= estimateTokens(fitting)
    picked.push(fitting)
  }
  return picked.toReversed().flat()
}

/** About four characters make a token. */
export const estimateTokens = (value: unknown): number => Math.ceil(JSON.stringify(value).length / 4)

function splitTurns(messages: readonly Json[]): TranscriptMessage[][] {
  const turns: TranscriptMessage[][] = []
  for (const message of messages.filter(isMessage)) {
    if (message.role === 'user') turns.push([message])
    else turns.at(-1)?.push(message)
  }
  return turns
}

const roles: ReadonlySet<unknown> = new Set(['user', 'assistant', 'tool'])

const isMessage = (value: Json): value is TranscriptMessage =>
  typeof value === 'object' && value !== null && 'role' in value && 'content' in value && roles.has(value['role'])

function withoutTools(message: TranscriptMessage): TranscriptMessage[] {
  if (message.role === 'tool') return []
  if (message.role === 'user' || !Array.isArray(message.content)) return [message]
  const content = (message.content as readonly Json[]).filter(
    (part) => (part as { type?: Json } | null)?.type === 'text',
  )
  return content.length ? [{ ...message, content }] : []
}
