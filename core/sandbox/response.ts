// What a child's answer means: the lines that were logged, or the fault, told by class and place and never in the
// transform's own words.
import { SourceMap } from 'node:module'
import { basename } from 'node:path'
import { firstProblem, type Problem } from '../typebox.ts'
import type { ChildResponse } from './pool/child.ts'
import { type LogLine, logLevels, type Thrown } from './ipc-frames.ts'
import { TransformError } from './transform-error.ts'

interface FaultContext {
  module: string
  exportName: string
  describePosition: DescribePosition
  logs?: readonly LogLine[]
}

/** An answer that is none, as an error that names the place and never the payload. */
export function faultOf(
  { outcome, body }: ChildResponse,
  { module, exportName, describePosition, logs = [] }: FaultContext,
): TransformError {
  if (outcome === 'payload_mismatch')
    return new TransformError('payload_mismatch', `${firstProblem(readProblems(body), 'the payload')}.`, { logs })
  if (outcome === 'no_function') {
    const what =
      exportName === 'default' ? 'its default export is no function' : `it exports no function "${exportName}"`
    return new TransformError('no_function', `The transform ${module} cannot be used: ${what}.`, { logs })
  }
  const thrown = JSON.parse(body) as Thrown
  const detail = `${thrown.name}: ${thrown.message}`
  if (outcome === 'bad_result')
    return new TransformError('bad_result', `The transform ${module} returned no result: ${thrown.message}.`, { logs })
  if (outcome === 'compile')
    return new TransformError(
      'compile',
      `The transform ${module} cannot be loaded: ${inPlainWords(detail)}${describePosition(thrown)}.`,
      { logs, detail },
    )
  return new TransformError('threw', `The transform ${module} threw a ${nameOf(thrown)}${describePosition(thrown)}.`, {
    logs,
    detail,
  })
}

/** Words of the sandbox about code that it refuses, in ours. */
function inPlainWords(detail: string): string {
  const [, what] = /Possible (import expression|HTML comment) rejected/.exec(detail) ?? []
  if (!what) return detail
  const text = what === 'HTML comment' ? '"<!--" or "-->"' : '"import("'
  return `it holds ${text}, which may not stand anywhere in a transform, not even in a string; write it in two parts`
}

/** A name is chosen by whoever threw it; only one that looks like a class goes into the log. */
const nameOf = ({ name }: Thrown): string => (/^[A-Za-z]\w{0,49}$/.test(name) ? name : 'value')

/** The levels are compared, since they choose a function of ours. */
export const readLines = (text: string): LogLine[] =>
  text === ''
    ? []
    : (JSON.parse(text) as LogLine[]).filter(([level, line]) => logLevels.includes(level) && typeof line === 'string')

const readProblems = (body: string): Problem[] =>
  (JSON.parse(body) as Problem[]).map(({ path, keys, problem }) => ({
    path: path.slice(0, 200),
    keys,
    problem: problem.slice(0, 300),
  }))

/** From a place in the bundle to one in the sources: ` at alerts.ts:12`, or nothing where it is not known. */
export type DescribePosition = (thrown: Thrown) => string

export function describePositionsIn(map: string): DescribePosition {
  let parsed: SourceMap | undefined
  return ({ line, column }) => {
    if (line <= headLines || map === '') return ''
    parsed ??= new SourceMap(JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0])
    const entry = parsed.findEntry(line - headLines - 1, column - 1)
    return 'originalSource' in entry ? ` at ${basename(entry.originalSource)}:${entry.originalLine + 1}` : ''
  }
}

/** Lines that stand before the bundle when it is evaluated. */
const headLines = 1
