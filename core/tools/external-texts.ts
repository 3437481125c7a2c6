// Which texts of a tool were written outside of the gateway, and may therefore hold instructions of strangers.
import type { Tool, ToolText } from '../plugin/plugin.ts'
import { joinProvenance, type Provenance } from '../store/provenance.ts'
import { describerOf } from './descriptions.ts'
import type { Policy } from './policy.ts'
import type { Subject } from './subject.ts'

/** Absent `args`: of the tool as such. A tool that declares nothing may return anything. */
export function externalTexts({ external = 'result' }: Pick<Tool, 'external'>, args?: unknown): ToolText {
  if (typeof external !== 'function') return external
  return args === undefined ? 'result' : external(args as never)
}

/** Of the descriptions of tools that a turn reads. Those of one service are one source. */
export function describedBy({ listed, isTrusted }: Pick<Policy, 'listed' | 'isTrusted'>, subject: Subject): Provenance {
  const outside = listed(subject).filter((entry) => externalTexts(entry.tool) === 'all' && !isTrusted(entry))
  return joinProvenance(...outside.map((entry) => ({ outside: [describerOf(entry)], authors: [], isPrivate: false })))
}

export const fromTool = (name: string): Provenance => ({ outside: [`the tool ${name}`], authors: [], isPrivate: false })

/** Whether a source is a tool. */
export const isFromTool = (source: string): boolean => source.startsWith('the tool ')
