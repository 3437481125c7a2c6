// Finds the commands, runs one, and prints errors as one sentence.
import type { Command as Parser } from 'commander'
import { ConfigError } from '../config/config-error.ts'
import { suggest } from '../config/nearest.ts'
import { readVersion } from '../version.ts'
import { firstLineOf, GatewayError, throwSiteOf } from '../errors.ts'
import { writeBigInts } from '../json.ts'
import { escapeInLine } from '../kit/escape-for-terminal.ts'
import { builtins } from '../loader/builtin-commands.ts'
import type { Command } from '../plugin/command.ts'
import { CommandError, exitCodes, isAuthError, isCommandError, isInputError } from '../plugin/errors.ts'
import { ownCommands } from './commands.ts'
import { createContext } from './context.ts'
import { createParser, type ListedCommand } from './parser.ts'

export async function runProgram(argv: readonly string[]): Promise<void> {
  writeBigInts()
  const words = argv.slice(2)
  let staysRunning = false
  try {
    if (words[0] === 'complete') return await complete(words.slice(2))
    const { commands, problems } = await findCommands(words)
    for (const problem of problems) process.stderr.write(`${problem}\n`)
    const named = selectNamed(commands, words)
    const parser = createParser(named.length > 0 ? named : commands, readVersion(), execute)
    rejectUnknownCommand(parser, words)
    await parser.parseAsync(argv)
    staysRunning = named.some((command) => command.staysRunning)
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`)
    process.exitCode = isCommandError(error) ? error.exitCode : 1
  }
  // A plugin may have started something that keeps this process alive.
  if (!staysRunning) process.stdout.write('', () => process.exit())
}

/** Prints what the last word may become. A shell asks in every folder, so no plugin is imported for it. */
async function complete(words: readonly string[]): Promise<void> {
  const { listCandidates } = await import('./completion/complete.ts')
  const lines = await listCandidates(listBuiltinCommands(), words)
  process.stdout.write(lines.map((line) => `${line}\n`).join(''), () => process.exit())
}

export const listBuiltinCommands = (): ListedCommand[] => [...ownCommands, ...(builtins as readonly Command[])]

interface FoundCommands {
  commands: readonly ListedCommand[]
  /** One sentence for each plugin that cannot be used. */
  problems: readonly string[]
}

/** Plugins are imported only if the words name no built-in command and ask for no list of commands. */
async function findCommands(words: readonly string[]): Promise<FoundCommands> {
  const commands = listBuiltinCommands()
  if (selectNamed(commands, words).length > 0 || isHelpOfBuiltins(commands, words)) return { commands, problems: [] }
  try {
    const { locateConfig } = await import('../config/file/locate.ts')
    const file = locateConfig({ option: readConfigOption(words) })
    if (file === undefined) return { commands, problems: [] }
    const { readConfigFile } = await import('../config/file/read.ts')
    const { plugins, dir } = readConfigFile(file)
    if (plugins.length === 0) return { commands, problems: [] }
    const { loadCommands, ownSource } = await import('../loader/registry.ts')
    const found = await loadCommands({ plugins, dir })
    const theirs = [...found.commands].filter(([, source]) => source !== ownSource)
    return {
      commands: [...commands, ...theirs.map(([command, plugin]) => Object.assign({ plugin }, command))],
      problems: found.problems,
    }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { commands, problems: [`The commands of plugins are not known: ${error.message.split('\n', 1)[0]}`] }
  }
}

/** Whether the words ask for the help of all commands, or for that of a group with built-in ones. */
function isHelpOfBuiltins(commands: readonly ListedCommand[], words: readonly string[]): boolean {
  const [first = '', ...rest] = words[0] === 'help' ? [...words.slice(1), '--help'] : words
  if (isHelp(first)) return true
  return rest.some(isHelp) && commands.some(({ name }) => name.split(' ', 1)[0] === first)
}

const isHelp = (word: string): boolean => ['-h', '--help'].includes(word)

/** The value of `--config`. The words cannot be parsed before the commands are known. */
function readConfigOption(words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => /^--config(?:=|$)/.test(word))
  return words[at] === '--config' ? words[at + 1] : words[at]?.slice('--config='.length)
}

/** The commands that the words can mean, so that no others have to be known. None: they name none of these. */
function selectNamed(
  commands: readonly ListedCommand[],
  [first = 'start', second = '']: readonly string[],
): readonly ListedCommand[] {
  if (isHelp(first)) return []
  if (first.startsWith('-')) return commands.filter(({ isDefault }) => isDefault)
  const isNamed = commands.some(({ name }) => name === first || name === `${first} ${second}`)
  return isNamed ? commands.filter(({ name }) => name.split(' ', 1)[0] === first) : []
}

/** `start` is the default command, so a misspelled command would become its argument. */
function rejectUnknownCommand(command: Parser, [first, ...rest]: readonly string[]): void {
  if (command.commands.length === 0 || first === undefined || first.startsWith('-')) return
  const found = command.commands.find((one) => one.name() === first)
  if (found) return rejectUnknownCommand(found, rest)
  const names = command
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name())
  if (names.includes(first)) return
  const called = command.parent ? `${command.name()} ${first}` : first
  const fix = suggest(first, names, `use one of these: ${names.join(', ')}.`)
  command.error(`There is no command "${called}"; ${fix}`)
}

async function execute(command: ListedCommand, input: Record<string, unknown>): Promise<void> {
  const interrupt = new AbortController()
  const context = await createContext(command, { ...input, interrupt })
  try {
    await command.run(input as never, context as never)
  } catch (error) {
    throw command.plugin === undefined || isExpected(error) ? error : failed(command, error)
  }
  if (interrupt.signal.aborted) process.exitCode = exitCodes.interrupted
}

const isExpected = (error: unknown): error is Error =>
  error instanceof ConfigError ||
  error instanceof GatewayError ||
  isCommandError(error) ||
  isInputError(error) ||
  isAuthError(error)

/** The place is in parentheses if a function is named. */
function failed({ name, plugin }: ListedCommand, error: unknown): CommandError {
  const place = throwSiteOf(error)
    .at?.split(/[( )]/)
    .find((part) => /:\d+$/.test(part))
  const reason = [firstLineOf(error), place && `at ${place}`].filter(Boolean).join(', ')
  return new CommandError(escapeInLine(`The command "${name}" of "${plugin}" failed (${reason}).`))
}

const rightsErrors = new Set(['EACCES', 'EPERM', 'EROFS'])

function describe(error: unknown): string {
  if (isExpected(error)) return error.message
  const { code, syscall, port, path } = error as NodeJS.ErrnoException & { port?: number }
  if (code === 'EADDRINUSE')
    return `Port ${port} is used by another program; stop it, or choose another port with --port or gateway.port.`
  if (code === 'EACCES' && syscall === 'listen')
    return `This user may not open port ${port}; choose a port above 1023 with --port or gateway.port.`
  if (code === 'EADDRNOTAVAIL' || syscall === 'getaddrinfo')
    return 'gateway.bind is not an address of this machine; use 127.0.0.1, 0.0.0.0 or one of its addresses.'
  if (code !== undefined && path !== undefined && rightsErrors.has(code))
    return `This user may not use ${path} (${syscall} failed: ${code}); run this as the gateway's user, or give it access.`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
