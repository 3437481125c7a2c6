// Makes messages of a conversation acceptable for the service of any model, whichever model wrote them.
import type { Json } from '../plugin/plugin.ts'

type Part = { readonly type: string } & { readonly [key: string]: Json }
interface Message {
  role: string
  content: string | readonly Part[]
}

/** What each service accepts as the name of a tool. The model may have invented one. */
const toolName = /^[a-zA-Z0-9_-]{1,64}$/

export const toPortableToolName = (name: string): string =>
  toolName.test(name) ? name : name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, 64) || 'unknown'

/** Anthropic refuses a blank text. An empty one with options of its own is one that only its own provider reads. */
export const isRefusedText = ({ type, text, providerOptions }: { [key: string]: Json | undefined }): boolean =>
  type === 'text' && typeof text === 'string' && text.trim() === '' && providerOptions === undefined

/**
 * Leaves out blank texts, gives each tool call a new id, and makes the names of tools valid. Services differ in the ids
 * that they accept, some refuse an id that occurs twice, and Mistral's accepts nothing but nine letters and digits.
 * @param prefix four letters, so that the ids differ from those of other messages of the prompt
 */
export function toPortable(messages: readonly Json[], prefix: string): Json[] {
  const ids = new Map<Json, string>()
  let count = 0
  const convert = (part: Part): Part[] => {
    if (isRefusedText(part)) return []
    if (part.type !== 'tool-call' && part.type !== 'tool-result') return [part]
    const { toolCallId: before = null, toolName: name } = part
    // Services may use one id in each step: the latest call with it counts.
    if (part.type === 'tool-call') ids.set(before, `${prefix}${String((count += 1)).padStart(5, '0')}`)
    const toolCallId = ids.get(before)
    const named = { ...part, toolName: toPortableToolName(name as string) }
    return toolCallId === undefined ? [] : [{ ...named, toolCallId, ...toPortableOutput(part) }]
  }
  return (messages as unknown as readonly Message[]).flatMap(({ content, ...message }) => {
    const portable = typeof content === 'string' ? content : content.flatMap(convert)
    const isBlank = typeof portable === 'string' ? portable.trim() === '' : portable.length === 0
    return isBlank ? [] : [{ ...message, content: portable }]
  })
}

/** A result that is a blank text says so. */
export function toPortableOutput({ output }: { readonly [key: string]: Json }): { output?: Json } {
  const { type, value } = (output ?? {}) as { type?: Json; value?: Json }
  const isBlank = type === 'text' && typeof value === 'string' && value.trim() === ''
  return isBlank ? { output: { type, value: '(no output)' } } : {}
}
