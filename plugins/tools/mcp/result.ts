// Converts the result of an MCP tool into the result of a gateway tool.
import type { CallToolResult } from '@modelcontextprotocol/client'
import { InputError } from 'svc-gateway/plugin'
import { restoreIntegers } from './exact-integers.ts'
import { maxErrorText } from './limits.ts'
import { cleanText } from './text.ts'

/**
 * Returns structured content, else the text, else all content blocks. Throws `InputError` if the tool reports an error,
 * so that the caller can read it and correct the call.
 */
export async function resultOf(calling: Promise<CallToolResult>): Promise<unknown> {
  const { content, structuredContent, isError } = await orInputError(calling)
  if (isError === true)
    throw new InputError(cleanText(textsOf(content).join('\n'), maxErrorText) || 'The tool failed and did not say why.')
  if (structuredContent !== undefined) return restoreIntegers(structuredContent)
  const texts = textsOf(content)
  return texts.length === content.length ? texts.join('\n') : { content }
}

/** The JSON-RPC code for invalid parameters. */
const invalidParams = -32_602

async function orInputError<Result>(calling: Promise<Result>): Promise<Result> {
  try {
    return await calling
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === invalidParams)
      throw new InputError(cleanText(error.message, maxErrorText), { cause: error })
    throw error
  }
}

const textsOf = (content: CallToolResult['content']): string[] =>
  content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
