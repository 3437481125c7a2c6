// Says what a tool does in the terms of MCP, and whether a call may be made again.
import type { ToolAnnotations } from '@modelcontextprotocol/server'
import type { Tool, ToolEffect } from '../plugin/plugin.ts'

type Declared = Pick<Tool, 'changes' | 'repeatable'>

/** A call that changes nothing can be made again. */
export const isRepeatable = ({ changes, repeatable = changes === 'nothing' }: Declared): boolean => repeatable

/** @param effects those of the tool, or those that the operator declares for it */
export function toAnnotations(tool: Declared, effects: readonly ToolEffect[] | 'by-call'): Required<Hints> {
  const readOnlyHint = tool.changes === 'nothing'
  return {
    readOnlyHint,
    destructiveHint: !readOnlyHint && tool.changes !== 'adds',
    idempotentHint: isRepeatable(tool),
    openWorldHint: effects === 'by-call' || effects.includes('sends'),
  }
}

type Hints = Omit<ToolAnnotations, 'title'>
