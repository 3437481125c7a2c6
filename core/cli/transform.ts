// The command `transform test`: runs a transform in the sandbox on a payload from a file, and shows what it makes of it.
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, dirname, resolve } from 'node:path'
import type { Command } from 'commander'
import { readConfigFile } from '../config/file.ts'
import { locateConfig } from '../config/locate.ts'
import type { LogLine } from '../sandbox/frames.ts'
import type { TransformCall } from '../sandbox/sandbox.ts'

export function register(program: Command): void {
  program
    .command('transform')
    .description('Work on transforms.')
    .command('test')
    .description('Run a transform on a payload, in the sandbox, and print what it returns; nothing is started.')
    .argument('<module>', 'the transform, as in transform.module: seen from the transforms directory')
    .requiredOption('--payload <file>', 'a file with the payload, in JSON; "-" is standard input')
    .option('--header <name: value>', 'a header of the request; may be given several times', collect, [])
    .option('--export <name>', 'the function to run, as in transform.export', 'default')
    .option('--now <time>', 'what the transform is told that the time is, ISO 8601')
    .option('--config <file>', 'configuration file, whose transforms directory is used (default: as for start, else ./transforms)')
    .action(test)
}

interface TestOptions {
  payload: string
  header: string[]
  export: string
  now?: string
  config?: string
}

async function test(module: string, options: TestOptions): Promise<void> {
  const [{ createSandbox }, { TransformError }] = await Promise.all([import('../sandbox/sandbox.ts'), import('../sandbox/transform-error.ts')])
  const sandbox = createSandbox({ ...transformsOf(options.config), log: silent })
  try {
    const { result, logs, ms } = await sandbox.load(module, { export: options.export }).run(callOf(module, options))
    show(logs)
    process.stderr.write(`${meaningOf(result)} (${ms.toFixed(1)} ms)\n`)
    process.stdout.write(`${JSON.stringify(result ?? null, null, 2)}\n`)
  } catch (error) {
    process.exitCode = 1
    if (error instanceof TransformError) show(error.logs)
    // Here the payload is the reader's own, so what was thrown may be shown.
    const detail = error instanceof TransformError && error.detail && !error.message.includes(error.detail) ? [error.detail] : []
    process.stderr.write(`${[(error as Error).message, ...detail].join('\n')}\n`)
  } finally {
    await sandbox.close()
  }
}

const collect = (value: string, before: string[]): string[] => [...before, value]

function transformsOf(option: string | undefined): { root: string; dir: string } {
  const file = locateConfig({ option, env: process.env, cwd: process.cwd(), home: homedir() })
  const base = file === undefined ? process.cwd() : dirname(resolve(file))
  const dir = file === undefined ? undefined : (readConfigFile(file).value as { hooks?: { transformsDir?: string } }).hooks?.transformsDir
  return { root: resolve(base, 'transforms'), dir: resolve(base, dir ?? 'transforms') }
}

function callOf(module: string, { payload, header, now = new Date().toISOString() }: TestOptions): TransformCall {
  const headers = Object.fromEntries(header.map((line) => splitHeader(line)))
  return { payload: readFileSync(payload === '-' ? 0 : payload), headers, query: {}, path: basename(module).replace(/\.\w+$/, ''), now, mapping: {} }
}

function splitHeader(line: string): [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]
}

function meaningOf(result: unknown): string {
  if (result === undefined) return 'It returned nothing: the action stays as the mapping makes it.'
  if (result === null) return 'It returned null: the request is skipped.'
  return Array.isArray(result) ? `It returned ${result.length} actions.` : 'It returned fields of the action.'
}

function show(lines: readonly LogLine[]): void {
  for (const [level, text] of lines) process.stderr.write(`${level}: ${text}\n`)
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }
