// Reads a stored conversation and converts it for display: messages, tool calls and their results.
import type { Json, SessionMessage } from '../plugin/plugin.ts'
import type { Store, StoredTranscriptEntry } from '../store/store.ts'

/** Maximum length of a message's text; the rest is cut, with a note. */
const maxTextLength = 20_000

/** The newest entries, oldest first. Read page by page, so that long transcripts do not block the store. */
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

/** Omits entries that are not messages. */
export const viewTranscript = (entries: readonly StoredTranscriptEntry[]): SessionMessage[] =>
  entries.flatMap(viewEntry)

function viewEntry({ message, at, runId }: StoredTranscriptEntry): SessionMessage[] {
  const { role, content } = (message ?? {}) as { role?: Json; content?: Json }
  if (role !== 'user' && role !== 'assistant' && role !== 'tool') return []
  const text = typeof content === 'string' ? content : [content ?? []].flat().map(renderPart).filter(Boolean).join('\n')
  return [{ role, text: truncate(text), at: new Date(at).toISOString(), runId }]
}

interface ContentPart {
  type?: Json
  text?: Json
  toolName?: Json
  input?: Json
  output?: { value?: Json }
}

function renderPart(part: Json): string {
  const { type, text, toolName, input, output } = (part ?? {}) as ContentPart
  if (type === 'text') return toText(text)
  if (type === 'tool-call') return `[${toText(toolName)} ${toText(input)}]`
  return type === 'tool-result' ? `[${toText(toolName)}: ${toText(output?.value)}]` : ''
}

const toText = (value: Json = null): string => (typeof value === 'string' ? value : JSON.stringify(value))

const truncate = (text: string): string =>
  text.length > maxTextLength ? `${text.slice(0, maxTextLength)}\n[cut: ${text.length} characters in all]` : text
