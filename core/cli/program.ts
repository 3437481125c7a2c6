// The commands, and what a failed one says: one clear text, never a stack.
import { createRequire } from 'node:module'
import { Command } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { nearest } from '../config/nearest.ts'
import { GatewayError } from '../errors.ts'
import { CommandError } from './command-error.ts'
import { registerCommands } from './commands.ts'

export async function runProgram(argv: readonly string[]): Promise<void> {
  const { version } = createRequire(import.meta.url)('svc-gateway/package.json') as { version: string }
  const program = new Command('svc-gateway')
    .description('Runs agents, and lets the outside world reach them over HTTP.')
    .version(version)
    .showHelpAfterError()
  registerCommands(program)
  refuseUnknownCommand(program, argv[2])
  try {
    await program.parseAsync(argv)
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`)
    process.exitCode = error instanceof CommandError ? error.exitCode : 1
  }
}

/** `start` need not be named, so a mistyped command would be taken for an argument of it. */
function refuseUnknownCommand(program: Command, first: string | undefined): void {
  const names = ['help', ...program.commands.map((command) => command.name())]
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
