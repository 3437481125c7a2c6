// The command `check`: prints what the plugins bring and `ok`, or all errors and warnings of the configuration.
import { ConfigError, type ConfigProblem, describeProblem } from '../../config/config-error.ts'
import { type ConfigDocument, readConfigFile } from '../../config/file/read.ts'
import { readLocatedConfig } from '../../config/file/locate.ts'
import { findWarnings, resolveWithWarnings } from '../../findings.ts'
import { type Extensions, loadExtensions, ownSource } from '../../loader/registry.ts'
import type { ConfigurationFinding } from '../../plugin/command.ts'
import { CommandError } from '../../plugin/errors.ts'
import type { Extension } from '../../plugin/plugin.ts'
import { print, printJson } from '../terminal.ts'

interface CheckOptions {
  config: string | undefined
  strict: boolean | undefined
  json?: boolean
}

export async function check({ config, strict = false, json = false }: CheckOptions): Promise<void> {
  const { plugins, refused, warnings, error } = await examine(() => readLocatedConfig(config))
  // Reported first, because the sections of rejected extensions are unknown keys.
  for (const problem of refused) process.stderr.write(`${problem}\n`)
  if (json) for (const finding of listFindings({ error, warnings })) printJson(finding)
  else plugins.forEach(print)
  if (error && !json) throw error
  if (!json) for (const warning of warnings) process.stderr.write(`warning: ${describeProblem(warning)}\n`)
  if (error) process.exitCode = 1
  else if (refused.length > 0) throw new CommandError('A plugin cannot be used; see above.')
  else if (strict && warnings.length > 0) throw new CommandError(describeStrict(warnings.length))
  else if (!json) print('ok')
}

const describeStrict = (count: number): string =>
  `There ${count === 1 ? 'is 1 warning' : `are ${count} warnings`}, and --strict allows none.`

/** What `check` finds in a file. */
export async function findProblems(file: string): Promise<ConfigurationFinding[]> {
  const { refused, ...found } = await examine(() => readConfigFile(file))
  return [
    ...refused.map((problem) => ({ severity: 'error' as const, path: 'plugins', problem })),
    ...listFindings(found),
  ]
}

interface Examined {
  /** One line for each plugin. */
  plugins: readonly string[]
  /** One sentence for each refused extension. */
  refused: readonly string[]
  warnings: readonly ConfigProblem[]
  error?: ConfigError | undefined
}

const listFindings = ({ error, warnings }: Pick<Examined, 'error' | 'warnings'>): ConfigurationFinding[] => [
  ...(error?.problems ?? []).map((problem) => Object.assign({ severity: 'error' as const }, problem)),
  ...warnings.map((problem) => Object.assign({ severity: 'warning' as const }, problem)),
]

async function examine(read: () => ConfigDocument): Promise<Examined> {
  let about: Pick<Examined, 'plugins' | 'refused'> = { plugins: [], refused: [] }
  try {
    const document = read()
    using extensions = await loadExtensions(document)
    about = { plugins: describePlugins(extensions), refused: extensions.problems }
    const warnings = await findWarnings(await resolveWithWarnings(document, extensions), {
      extensions,
      env: process.env,
    })
    return { ...about, warnings }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { ...about, warnings: error.warnings, error }
  }
}

/** One line for each plugin. Nothing is connected or opened for it. */
function describePlugins({ sources }: Extensions): string[] {
  const bySource = Map.groupBy(sources, ([, source]) => source)
  bySource.delete(ownSource)
  return Array.from(bySource, ([source, entries]) => {
    const extensions = entries.map(([extension]) => describeExtension(extension))
    return `${source}: ${extensions.join(', ')}`
  })
}

function describeExtension(extension: Extension): string {
  const { kind, name } = extension
  if (kind !== 'toolset') return `${kind} ${name}`
  const tools = extension.tools?.map((tool) => tool.name).join(' ')
  return `toolset ${name} (${[tools, extension.open && 'more when it is opened'].filter(Boolean).join(', ')})`
}
