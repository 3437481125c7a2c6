// Loads and runs commands, and prints their errors without a stack.
import { Command } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { nearest } from '../config/nearest.ts'
import { readVersion } from '../control/version.ts'
import { GatewayError } from '../errors.ts'
import { CommandError } from '../plugin/errors.ts'
import { registerCommands } from './commands.ts'

export async function runProgram(argv: readonly string[]): Promise<void> {
  const program = new Command('svc-gateway')
    .description('Runs agents and connects them to the outside world over HTTP.')
    .version(readVersion())
  registerCommands(program)
  rejectUnknownCommand(program, argv.slice(2))
  try {
    await program.parseAsync(argv)
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`)
    process.exitCode = error instanceof CommandError ? error.exitCode : 1
  }
}

/** `start` is the default command, so a misspelled command would become its argument. */
function rejectUnknownCommand(command: Command, [first, ...rest]: readonly string[]): void {
  if (command.commands.length === 0 || first === undefined || first.startsWith('-')) return
  const found = command.commands.find((one) => one.name() === first)
  if (found) return rejectUnknownCommand(found, rest)
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name())
  if (names.includes(first)) return
  const suggestion = nearest(first, names)
  const called = command.parent ? `${command.name()} ${first}` : first
  const fix = suggestion ? `; did you mean "${suggestion}"?` : `; use one of these: ${names.join(', ')}.`
  command.error(`There is no command "${called}"${fix}`)
}

function describe(error: unknown): string {
  if (error instanceof ConfigError || error instanceof GatewayError || error instanceof CommandError)
    return error.message
  const { code, syscall, port } = error as NodeJS.ErrnoException & { port?: number }
  if (code === 'EADDRINUSE')
    return `Port ${port} is used by another program; stop it, or choose another port with --port or gateway.port.`
  if (code === 'EACCES' && syscall === 'listen')
    return `This user may not open port ${port}; choose a port above 1023 with --port or gateway.port.`
  if (code === 'EADDRNOTAVAIL' || syscall === 'getaddrinfo')
    return 'gateway.bind is not an address of this machine; use 127.0.0.1, 0.0.0.0 or one of its addresses.'
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
