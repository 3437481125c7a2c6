// Replaces the error texts of the model library with sentences that a model can act on.

const sentences: readonly (readonly [pattern: RegExp, sentence: string])[] = [
  [/^AI_NoSuchToolError\b/, 'There is no tool with this name; call one of those that you were given.'],
  [
    /^AI_InvalidToolInputError\b/,
    'The arguments are not valid JSON; send one JSON object that fits the schema of the tool.',
  ],
  [/^AI_\w+/, 'The call is not valid; call one of the tools that you were given, with one JSON object.'],
]

/** Errors of tools, and of the rules that refuse a call, keep their own text. */
export function describeToolError(text: string): string {
  return sentences.find(([pattern]) => pattern.test(text))?.[1] ?? text.replace(/^Error: /, '')
}
