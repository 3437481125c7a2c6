// The error of an invalid configuration: all of its problems, with their lines.

/** Names the kind of a problem, for programs. Most problems have none. */
export type ProblemCode =
  | 'budget_silent'
  | 'channel_unknown'
  | 'config_readable'
  | 'environment_unset'
  | 'mapping_unreached'
  | 'package_missing'
  | 'preset_unsigned'
  | 'price_unknown'
  | 'reply_undeliverable'
  | 'secret_file_missing'
  | 'strangers_admitted'
  | 'time_zone_unknown'
  | 'token_missing'
  | 'token_reused'
  | 'token_short'
  | 'transform_broken'

export interface ConfigProblem {
  code?: ProblemCode
  /** Dotted path of the key; empty for the file as a whole. */
  path: string
  /** The id of the mapping that the key belongs to, if it has one. An index alone is hard to find in a long list. */
  id?: string
  /** Line of the file, from 1; absent if there is no file yet. */
  line?: number
  /** Column of the line, from 1. */
  column?: number | undefined
  /** What is wrong and how to fix it; never a value that may be a secret. */
  problem: string
}

/**
 * The message is one sentence about the file as a whole, or a headline and one line per problem and per warning, in the
 * order of the file.
 */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly file: string
  readonly problems: readonly ConfigProblem[]
  /** Warnings about what is valid. */
  readonly warnings: readonly ConfigProblem[]

  constructor(file: string, problems: readonly ConfigProblem[], warnings: readonly ConfigProblem[] = []) {
    const inOrder = problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
    const text =
      describeFile(file, inOrder) ?? [headlineOf(file, inOrder), ...inOrder.map(describeProblem)].join('\n  ')
    super([text, ...warnings.map((warning) => `warning: ${describeProblem(warning)}`)].join('\n'))
    this.file = file
    this.problems = inOrder
    this.warnings = warnings
  }
}

/** Undefined unless the only problem is about the file as a whole. */
function describeFile(file: string, [first, ...others]: readonly ConfigProblem[]): string | undefined {
  if (!first || others.length > 0 || first.path !== '' || first.line !== undefined) return undefined
  return `The configuration ${file} ${first.problem}.`
}

const headlineOf = (file: string, { length }: readonly ConfigProblem[]): string =>
  `The configuration ${file} has ${length === 1 ? 'a problem' : `${length} problems`}:`

/** `line 4: hooks.mappings[2].channel ("orders") is no channel` */
export function describeProblem({ path, id, line, problem }: ConfigProblem): string {
  return [
    line === undefined ? '' : `line ${line}: `,
    path ? `${path} ` : '',
    id === undefined ? '' : `(${JSON.stringify(id)}) `,
    problem,
  ].join('')
}
