// A stored conversation as people and tools read it: who said what, and what tools were asked and answered.
import type { Json, SessionMessage } from '../plugin.ts'
import type { Store, StoredTranscriptEntry } from '../store/store.ts'

/** Longest text of one message; the rest is cut, with a mark. */
const longestText = 20_000

/** The newest entries, oldest first. Read page by page: long ones must not keep the store from its writes. */
export async function readTranscript(
  store: Pick<Store, 'listTranscript'>,
  sessionKey: string,
  limit: number,
): Promise<StoredTranscriptEntry[]> {
  const entries: StoredTranscriptEntry[] = []
  for (let before: number | undefined; entries.length < limit;) {
    const { items, next } = await store.listTranscript(sessionKey, { before, limit: limit - entries.length })
    entries.push(...items)
    if (next === undefined) break
    before = next
  }
  return entries.toReversed()
}

/** Entries that are no message of a conversation are left out. */
export const viewTranscript = (entries: readonly StoredTranscriptEntry[]): SessionMessage[] =>
  entries.flatMap(viewEntry)

function viewEntry({ message, at, runId }: StoredTranscriptEntry): SessionMessage[] {
  const { role, content } = (message ?? {}) as { role?: Json; content?: Json }
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') return []
  const text = typeof content === 'string' ? content : [content ?? []].flat().map(textOf).filter(Boolean).join('\n')
  return [{ role, text: cut(text), at: new Date(at).toISOString(), runId }]
}

interface Part {
  type?: Json
  text?: Json
  toolName?: Json
  input?: Json
  output?: { value?: Json }
}

function textOf(part: Json): string {
  const { type, text, toolName, input, output } = (part ?? {}) as Part
  if (type === 'text') return shown(text)
  if (type === 'tool-call') return `[${shown(toolName)} ${shown(input)}]`
  return type === 'tool-result' ? `[${shown(toolName)}: ${shown(output?.value)}]` : ''
}

const shown = (value: Json = null): string => (typeof value === 'string' ? value : JSON.stringify(value))

const cut = (text: string): string =>
  text.length > longestText ? `${text.slice(0, longestText)}\n[cut: ${text.length} characters in all]` : text
