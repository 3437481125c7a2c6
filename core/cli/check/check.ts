// The command `check`: prints what the plugins bring and `ok`, or all errors and warnings of the configuration.
import { describeProblem } from '../../config/config-error.ts'
import { readConfigFile } from '../../config/file/read.ts'
import { readLocatedConfig } from '../../config/file/locate.ts'
import { describeSource } from '../../loader/plugin-package.ts'
import { type Extensions, ownSource } from '../../loader/registry.ts'
import type { ConfigurationFinding } from '../../plugin/command.ts'
import { CommandError } from '../../plugin/errors.ts'
import type { Extension } from '../../plugin/plugin.ts'
import { examine, type Examined } from '../examine.ts'
import { print, printJson } from '../terminal.ts'

interface CheckOptions {
  config: string | undefined
  strict: boolean | undefined
  json?: boolean
}

export async function check({ config, strict = false, json = false }: CheckOptions): Promise<void> {
  using examined = await examine(() => readLocatedConfig(config))
  const { extensions, warnings, error } = examined
  const refused = extensions?.problems ?? []
  const faulty = extensions?.warnings ?? []
  // Reported first, because warnings about the sections of refused extensions follow from it.
  if (json) for (const finding of listFindings(examined)) printJson(finding)
  else {
    for (const problem of refused) process.stderr.write(`${problem}\n`)
    for (const problem of faulty) process.stderr.write(`warning: ${problem}\n`)
    if (extensions) describePlugins(extensions).forEach(print)
    if (error) throw error
    for (const warning of warnings) process.stderr.write(`warning: ${describeProblem(warning)}\n`)
  }
  const count = faulty.length + warnings.length
  if (error) process.exitCode = 1
  else if (refused.length > 0) throw new CommandError('A plugin cannot be used; see above.')
  else if (strict && count > 0) throw new CommandError(describeStrict(count))
  else if (!json) print('ok')
}

const describeStrict = (count: number): string =>
  `There ${count === 1 ? 'is 1 warning' : `are ${count} warnings`}, and --strict allows none.`

/** What `check` finds in a file. */
export async function findProblems(file: string): Promise<ConfigurationFinding[]> {
  using examined = await examine(() => readConfigFile(file))
  return listFindings(examined)
}

const listFindings = ({ extensions, error, warnings }: Examined): ConfigurationFinding[] => [
  ...(extensions?.problems ?? []).map((problem) => ({ severity: 'error' as const, path: 'plugins', problem })),
  ...(extensions?.warnings ?? []).map((problem) => ({ severity: 'warning' as const, path: 'plugins', problem })),
  ...(error?.problems ?? []).map((problem) => Object.assign({ severity: 'error' as const }, problem)),
  ...warnings.map((problem) => Object.assign({ severity: 'warning' as const }, problem)),
]

/** One line for each plugin. Nothing is connected or opened for it. */
function describePlugins({ sources, packages }: Extensions): string[] {
  const bySource = Map.groupBy(sources, ([, source]) => source)
  bySource.delete(ownSource)
  return Array.from(bySource, ([source, entries]) => {
    const extensions = entries.map(([extension]) => describeExtension(extension))
    return `${describeSource(source, packages)}: ${extensions.join(', ')}`
  })
}

/** `toolset dice (roll)` */
export function describeExtension(extension: Extension): string {
  const { kind, name } = extension
  if (kind !== 'toolset') return `${kind} ${name}`
  const tools = extension.tools?.map((tool) => tool.name).join(' ')
  return `toolset ${name} (${[tools, extension.open && 'more when it is opened'].filter(Boolean).join(', ')})`
}
