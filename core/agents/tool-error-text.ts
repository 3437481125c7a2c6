// What a model reads of a call that failed: sentences of ours in place of the names of the library's errors.
import type { ModelMessage } from 'ai'

const sentences: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [/^AI_NoSuchToolError\b/, 'There is no tool with this name; call one of those that you were given.'],
  [
    /^AI_InvalidToolInputError\b/,
    'The arguments are not valid JSON; send one JSON object that fits the schema of the tool.',
  ],
  [/^AI_\w+/, 'The call is not valid; call one of the tools that you were given, with one JSON object.'],
]

/** Of a tool that was called at all the sentence is its own, or that of the rule that refused the call. */
export function toolErrorText(text: string): string {
  return sentences.find(([pattern]) => pattern.test(text))?.[1] ?? text.replace(/^Error: /, '')
}

/** The same for what the library itself has put into the conversation. */
export function withToolErrors(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) =>
    message.role === 'tool' ? { ...message, content: message.content.map(withErrorText) } : message,
  )
}

type ToolPart = Extract<ModelMessage, { role: 'tool' }>['content'][number]

function withErrorText(extension: ToolPart): ToolPart {
  if (extension.type !== 'tool-result' || extension.output.type !== 'error-text') return extension
  return { ...extension, output: { ...extension.output, value: toolErrorText(extension.output.value) } }
}
