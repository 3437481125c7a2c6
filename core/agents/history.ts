// Trims a transcript to the newest turns that fit into the limits of the model's history.
import type { Json } from '../plugin/plugin.ts'

export interface HistoryLimits {
  /** The maximum number of turns. A turn begins with a user message. */
  turns: number
  /** The maximum number of tokens, estimated. */
  tokens: number
}

type TranscriptMessage = { readonly role: string; readonly content: Json } & { readonly [key: string]: Json }

/**
 * Picks whole turns, newest first, so that a tool's result stays with its call and the history begins with a user
 * message. A turn that is too long is kept without its tool calls and results. If it is still too long, the history
 * ends there.
 */
export function trimHistory(messages: readonly Json[], { turns, tokens }: HistoryLimits): Json[] {
  const picked: TranscriptMessage[][] = []
  let left = tokens
  for (const turn of splitTurns(messages).toReversed()) {
    const fitting =
      picked.length < turns
        ? [turn, turn.flatMap(removeToolCalls)].find((version) => estimateTokens(version) <= left)
        : undefined
    if (!fitting) break
    left -= estimateTokens(fitting)
    picked.push(fitting)
  }
  return picked.toReversed().flat()
}

/** Assumes four characters for each token. */
export const countTokens = (characters: number): number => Math.ceil(characters / 4)
export const estimateTokens = (value: unknown): number => countTokens(JSON.stringify(value).length)

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

function removeToolCalls(message: TranscriptMessage): TranscriptMessage[] {
  if (message.role === 'tool') return []
  if (message.role === 'user' || !Array.isArray(message.content)) return [message]
  const content = (message.content as readonly Json[]).filter(
    (part) => (part as { type?: Json } | null)?.type === 'text',
  )
  return content.length ? [{ ...message, content }] : []
}
