// The command `check`: prints what the plugins bring and `ok`, or all errors and warnings of the configuration.
import { ConfigError, type ConfigProblem, describeProblem } from '../config/config-error.ts'
import { readLocatedConfig } from '../config/file/read-located.ts'
import { findWarnings, resolveWithWarnings } from '../findings.ts'
import { type Extensions, loadExtensions, ownSource } from '../loader/registry.ts'
import type { Extension } from '../plugin/plugin.ts'
import { CommandError } from './command-error.ts'
import { printJson } from './inspect/output.ts'

interface CheckOptions {
  config?: string
  strict?: boolean
  json?: boolean
}

export async function check({ json, ...options }: CheckOptions): Promise<void> {
  await (json ? reportProblems(options, printJson) : checkConfig(options, asText))
}

/** An error or a warning, for programs. */
export interface Problem extends ConfigProblem {
  severity: 'error' | 'warning'
}

/** Passes each error and warning to `report`. An error sets the exit code. */
export async function reportProblems(options: CheckOptions, report: (problem: Problem) => void): Promise<void> {
  try {
    await checkConfig(options, { line() {}, warning: (warning) => report({ severity: 'warning', ...warning }) })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    for (const problem of error.problems) report({ severity: 'error', ...problem })
    for (const warning of error.warnings) report({ severity: 'warning', ...warning })
    process.exitCode = 1
  }
}

interface Print {
  line(text: string): void
  warning(warning: ConfigProblem): void
}

const asText: Print = {
  line: (text) => void process.stdout.write(`${text}\n`),
  warning: (warning) => void process.stderr.write(`warning: ${describeProblem(warning)}\n`),
}

async function checkConfig({ config, strict = false }: CheckOptions, print: Print): Promise<void> {
  const document = readLocatedConfig(config)
  const extensions = await loadExtensions({ plugins: document.plugins, dir: document.dir, log: silent })
  try {
    // Reported first, because the sections of rejected extensions are unknown keys.
    for (const problem of extensions.problems) process.stderr.write(`${problem}\n`)
    for (const line of describePlugins(extensions)) print.line(line)
    const warnings = await findWarnings(await resolveWithWarnings(document, extensions), {
      extensions,
      env: process.env,
    })
    for (const warning of warnings) print.warning(warning)
    const count = warnings.length
    if (extensions.problems.length > 0) throw new CommandError('A plugin cannot be used; see above.')
    if (strict && count > 0)
      throw new CommandError(
        `There ${count === 1 ? 'is 1 warning' : `are ${count} warnings`}, and --strict allows none.`,
      )
    print.line('ok')
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

const silent = { debug() {}, info() {}, warn() {}, error() {} }
