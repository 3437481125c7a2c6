// The command `check`: prints what the plugins bring and `ok`, or all errors of the configuration.
import { describeProblem } from '../config/config-error.ts'
import { readLocatedConfig } from '../config/file/read-located.ts'
import { resolveConfig } from '../config/resolve.ts'
import { findWarnings } from '../findings.ts'
import { type Extensions, loadExtensions, ownSource } from '../loader/registry.ts'
import type { Extension } from '../plugin.ts'
import { CommandError } from './command-error.ts'

export async function check({ config, strict = false }: { config?: string; strict?: boolean }): Promise<void> {
  const document = readLocatedConfig(config)
  const extensions = await loadExtensions({ plugins: document.plugins, dir: document.dir, log: silent })
  try {
    // Reported first, because the sections of rejected extensions are unknown keys.
    for (const problem of extensions.problems) process.stderr.write(`${problem}\n`)
    for (const line of describePlugins(extensions)) process.stdout.write(`${line}\n`)
    const warnings = await findWarnings(resolveConfig(document, extensions), { extensions })
    for (const warning of warnings) warn(describeProblem(warning))
    const count = warnings.length
    if (extensions.problems.length > 0) throw new CommandError('A plugin cannot be used; see above.')
    if (strict && count > 0)
      throw new CommandError(
        `There ${count === 1 ? 'is 1 warning' : `are ${count} warnings`}, and --strict allows none.`,
      )
    process.stdout.write('ok\n')
  } finally {
    extensions.close()
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

const warn = (text: string): void => void process.stderr.write(`warning: ${text}\n`)

const silent = { debug() {}, info() {}, warn() {}, error() {} }
