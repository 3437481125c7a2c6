// What a call of a server's tool came to → what the gateway answers.
import type { CallToolResult } from '@modelcontextprotocol/client'
import { InputError } from 'svc-gateway/plugin'
import { maxErrorText } from './limits.ts'
import { cleanText } from './text.ts'

/**
 * Structured content as it is, else the text, else all blocks of content.
 * Throws InputError for what the tool says went wrong: the caller is to read it and do better.
 */
export async function resultOf(calling: Promise<CallToolResult>): Promise<unknown> {
  const { content, structuredContent, isError } = await orInputError(calling)
  if (isError === true)
    throw new InputError(cleanText(textsOf(content).join('\n'), maxErrorText) || 'The tool failed and did not say why.')
  if (structuredContent !== undefined) return structuredContent
  const texts = textsOf(content)
  return texts.length === content.length ? texts.join('\n') : { content }
}

/** JSON-RPC's code for parameters that the server refuses. */
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
