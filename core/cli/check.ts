// The command `check`: says `ok`, or everything that is wrong with the configuration.
import { homedir } from 'node:os'
import type { Command } from 'commander'
import { ConfigError, describeProblem } from '../config/config-error.ts'
import { type ConfigDocument, readConfigFile } from '../config/file.ts'
import { commandLine, firstConfigFile, locateConfig } from '../config/locate.ts'
import { resolveConfig } from '../config/resolve.ts'
import { loadParts } from '../loader/registry.ts'

export function register(program: Command): void {
  program
    .command('check')
    .description('Check the configuration and start nothing; the exit code is 0 or 1.')
    .option('--config <file>', 'configuration file (default: $SVC_GATEWAY_CONFIG, ./gateway.json5, ~/.svc-gateway/gateway.json5)')
    .action(check)
}

async function check({ config }: { config?: string }): Promise<void> {
  const document = readDocument(config)
  const parts = await loadParts({ plugins: document.plugins, dir: document.dir, log: silent })
  parts.close()
  // A part that was refused is told first: without it, its section is an unknown key.
  for (const problem of parts.problems) process.stderr.write(`warning: ${problem}\n`)
  const { warnings } = resolveConfig(document, parts)
  for (const warning of warnings) process.stderr.write(`warning: ${describeProblem(warning)}\n`)
  process.stdout.write('ok\n')
}

function readDocument(option: string | undefined): ConfigDocument {
  const surroundings = { option, env: process.env, cwd: process.cwd(), home: homedir() }
  const file = locateConfig(surroundings)
  if (file !== undefined) return readConfigFile(file)
  throw new ConfigError(firstConfigFile(surroundings), [{ path: '', problem: `does not exist yet; "${commandLine('setup')}" writes it` }])
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }
