// The command `check`: prints `ok`, or all errors of the configuration.
import { homedir } from 'node:os'
import { ConfigError, describeProblem } from '../config/config-error.ts'
import { type ConfigDocument, readConfigFile } from '../config/file/read.ts'
import { commandLine, firstConfigFile, locateConfig } from '../config/file/locate.ts'
import { resolveConfig } from '../config/resolve.ts'
import { findWarnings } from '../findings.ts'
import { loadExtensions } from '../loader/registry.ts'
import { CommandError } from './command-error.ts'

export async function check({ config, strict = false }: { config?: string; strict?: boolean }): Promise<void> {
  const document = readDocument(config)
  const extensions = await loadExtensions({ plugins: document.plugins, dir: document.dir, log: silent })
  try {
    // Reported first, because the sections of rejected extensions are unknown keys.
    for (const problem of extensions.problems) warn(problem)
    const warnings = await findWarnings({ document, resolved: resolveConfig(document, extensions) }, { extensions })
    for (const warning of warnings) warn(describeProblem(warning))
    const count = extensions.problems.length + warnings.length
    if (strict && count > 0)
      throw new CommandError(
        `There ${count === 1 ? 'is 1 warning' : `are ${count} warnings`}, and --strict allows none.`,
      )
    process.stdout.write('ok\n')
  } finally {
    extensions.close()
  }
}

const warn = (text: string): void => void process.stderr.write(`warning: ${text}\n`)

function readDocument(option: string | undefined): ConfigDocument {
  const surroundings = { option, env: process.env, cwd: process.cwd(), home: homedir() }
  const file = locateConfig(surroundings)
  if (file !== undefined) return readConfigFile(file)
  throw new ConfigError(firstConfigFile(surroundings), [
    { path: '', problem: `does not exist; run "${commandLine('setup')}" to create it` },
  ])
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }
