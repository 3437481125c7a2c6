// The commands, and what a failed one says: one clear text, never a stack.
import { createRequire } from 'node:module'
import { Command } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { nearest } from '../config/nearest.ts'
import { GatewayError } from '../errors.ts'
import { CommandError } from './command-error.ts'

export async function runProgram(argv: readonly string[]): Promise<void> {
  const { version } = createRequire(import.meta.url)('svc-gateway/package.json') as { version: string }
  const program = new Command('svc-gateway')
    .description('Runs agents, and lets the outside world reach them over HTTP.')
    .version(version)
    .showHelpAfterError()
  for (const { register } of await Promise.all(commandsFor(argv.slice(2)).map((load) => load()))) register(program)
  refuseUnknownCommand(program, argv[2])
  try {
    await program.parseAsync(argv)
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`)
    process.exitCode = error instanceof CommandError ? error.exitCode : 1
  }
}

interface CommandModule {
  register(program: Command): void
}

export const commands: Record<string, () => Promise<CommandModule>> = {
  start: () => import('./start.ts'),
  check: () => import('./check.ts'),
  setup: () => import('./setup.ts'),
  transform: () => import('./transform.ts'),
  requests: () => import('./requests.ts'),
  replay: () => import('./replay.ts'),
}

/**
 * Only the one that is asked for, since loading all would take longer than what most of them do; all for a page of
 * help.
 */
function commandsFor([first = 'start', ...others]: readonly string[]): (() => Promise<CommandModule>)[] {
  const helps = [first, ...others].some((word) => word === '-h' || word === '--help')
  const asked = first.startsWith('-') && !helps ? 'start' : first
  const command = Object.hasOwn(commands, asked) ? commands[asked] : undefined
  return command ? [command] : Object.values(commands)
}

/** `start` need not be named, so a mistyped command would be taken for an argument of it. */
function refuseUnknownCommand(program: Command, first: string | undefined): void {
  const names = ['help', ...Object.keys(commands)]
  if (first === undefined || first.startsWith('-') || names.includes(first)) return
  const meant = nearest(first, names)
  program.error(`There is no command "${first}"${meant ? `; did you mean "${meant}"?` : '.'}`)
}

function explain(error: unknown): string {
  if (error instanceof ConfigError || error instanceof GatewayError || error instanceof CommandError)
    return error.message
  const { code, syscall, port } = error as NodeJS.ErrnoException & { port?: number }
  if (code === 'EADDRINUSE')
    return `Port ${port} is taken by another program; stop that one, or choose another port with --port or gateway.port.`
  if (code === 'EACCES' && syscall === 'listen')
    return `Port ${port} may not be opened by this user; choose one above 1023 with --port or gateway.port.`
  if (code === 'EADDRNOTAVAIL' || syscall === 'getaddrinfo')
    return 'gateway.bind is no address of this machine; use 127.0.0.1, 0.0.0.0, or one of its own addresses.'
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
