// Interprets what a child responds: log lines, and failures as errors that name class and position but no payload.
import { SourceMap } from 'node:module'
import { basename } from 'node:path'
import { firstProblem, type Problem } from '../typebox.ts'
import { fieldsOf, listOf } from '../kit/shapes.ts'
import { type LogLine, logLevels, type Position, type Thrown } from './ipc-frames.ts'
import type { ChildResponse } from './pool/child.ts'
import { TransformError } from './transform-error.ts'

interface FailureContext {
  module: string
  exportName: string
  describePosition: DescribePosition
  logs?: readonly LogLine[]
}

/** The error for a response whose outcome is not `ok`. */
export function toTransformError({ outcome, body }: ChildResponse, context: FailureContext): TransformError {
  const { module, exportName, describePosition, logs = [] } = context
  if (outcome === 'payload_mismatch')
    return new TransformError('payload_mismatch', `${firstProblem(readProblems(body), 'the payload')}.`, { logs })
  if (outcome === 'no_function') {
    const what =
      exportName === 'default' ? 'its default export is not a function' : `it exports no function "${exportName}"`
    return new TransformError('no_function', `The transform ${module} cannot be used: ${what}.`, { logs })
  }
  const thrown = JSON.parse(body) as Thrown
  const detail = `${thrown.name}: ${thrown.message}`
  if (outcome === 'bad_result')
    return new TransformError('bad_result', `The transform ${module} returned an invalid result: ${thrown.message}.`, {
      logs,
    })
  if (outcome === 'compile') {
    const reason = explainRejection(detail)
    return new TransformError(
      'compile',
      `The transform ${module} cannot be loaded: ${reason}${describePosition(thrown)}.`,
      { logs, detail },
    )
  }
  const message = `The transform ${module} threw ${nameOf(thrown)}${describePosition(thrown)}.`
  return new TransformError('threw', message, { logs, detail })
}

/** Replaces SES's message about source text that it rejects. */
function explainRejection(detail: string): string {
  const [, what] = /Possible (import expression|HTML comment) rejected/.exec(detail) ?? []
  if (!what) return detail
  const text = what === 'HTML comment' ? '"<!--" or "-->"' : '"import("'
  return `it contains ${text}, which no transform may contain, not even in a string; split the text in two`
}

/** The transform chooses the name of what it throws, so only a name that looks like a class is logged. */
function nameOf({ name }: Thrown): string {
  if (!/^[A-Za-z]\w{0,49}$/.test(name)) return 'a value'
  return `${/^[AEIOU]/.test(name) ? 'an' : 'a'} ${name}`
}

/** The child is not trusted: a level selects a method of the log, so unknown levels are dropped. */
export const readLogLines = (text: string): LogLine[] =>
  text === ''
    ? []
    : (JSON.parse(text) as LogLine[]).filter(([level, line]) => logLevels.includes(level) && typeof line === 'string')

const readProblems = (body: string): Problem[] =>
  (JSON.parse(body) as Problem[]).map(({ path, keys, problem }) => ({
    path: path.slice(0, 200),
    keys,
    problem: problem.slice(0, 300),
  }))

/**
 * Translates positions in the bundle to the innermost one in the files of the transform: ` at alerts.ts:12`, or an empty
 * string if unknown. What fails in a helper of the gateway failed because of the call.
 */
export type DescribePosition = (thrown: Thrown) => string

export function describePositionsIn(map: string): DescribePosition {
  let parsed: SourceMap | undefined
  return ({ positions }) => {
    // The child is not trusted, so that they may be anything, and any number.
    const known = listOf(positions).slice(0, 10).map(fieldsOf) as unknown as Position[]
    const inBundle = known.filter(({ line }) => line > headLines)
    if (inBundle.length === 0 || map === '') return ''
    const sources = (parsed ??= new SourceMap(JSON.parse(map) as ConstructorParameters<typeof SourceMap>[0]))
    const entries = inBundle.map(({ line, column }) => sources.findEntry(line - headLines - 1, column - 1))
    const found = entries.filter((entry) => 'originalSource' in entry)
    const entry = found.find(({ originalSource }) => !originalSource.startsWith('..')) ?? found[0]
    return entry ? ` at ${basename(entry.originalSource)}:${entry.originalLine + 1}` : ''
  }
}

/** Lines that precede the bundle in the evaluated code. */
const headLines = 1
