// A stored conversation as people and tools read it: who said what, and what tools were asked and answered.
import type { Json, SessionMessage } from '../plugin.ts'
import type { StoredTranscriptEntry } from '../store/store.ts'

/** Longest text of one message; the rest is cut, with a mark. */
const longestText = 20_000

/** Entries that are no message of a conversation are left out. */
export const viewTranscript = (entries: readonly StoredTranscriptEntry[]): SessionMessage[] => entries.flatMap(viewEntry)

function viewEntry({ message, at, runId }: StoredTranscriptEntry): SessionMessage[] {
  const { role, content } = (message ?? {}) as { role?: Json; content?: Json }
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') return []
  const text = typeof content === 'string' ? content : [content ?? []].flat().map(textOf).filter(Boolean).join('\n')
  return [{ role, text: cut(text), at: new Date(at).toISOString(), runId }]
}

function textOf(part: Json): string {
  const { type, text, toolName, input, output } = (part ?? {}) as { [key: string]: Json }
  if (type === 'text') return String(text)
  if (type === 'tool-call') return `[${String(toolName)} ${JSON.stringify(input)}]`
  if (type !== 'tool-result') return ''
  const { value } = (output ?? {}) as { value?: Json }
  return `[${String(toolName)}: ${typeof value === 'string' ? value : JSON.stringify(value ?? null)}]`
}

const cut = (text: string): string => (text.length > longestText ? `${text.slice(0, longestText)}\n[cut: ${text.length} characters in all]` : text)
