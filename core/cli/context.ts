// What a command gets: the terminal, the signal of Ctrl-C, and what it needs.
import { commandLine } from '../config/file/locate.ts'
import { escapeForTerminal } from '../kit/escape-for-terminal.ts'
import type { CommandContext, Terminal } from '../plugin/command.ts'
import { CommandError, exitCodes } from '../plugin/errors.ts'
import type { ControlOptions } from './locate-gateway.ts'
import { onInterrupt } from './interrupt.ts'
import type { ListedCommand } from './parser.ts'
import { print, printFields, printJson, printList, printRow, stopAtClosedPipe } from './terminal.ts'

/** The code of what a command does not need is not loaded. */
export async function createContext(
  { needs = [] }: ListedCommand,
  { interrupt, ...options }: ControlOptions & { interrupt: AbortController },
): Promise<CommandContext<'control' | 'configuration'>> {
  let isListening = false
  const context: CommandContext = {
    terminal: createTerminal(),
    get signal() {
      if (!isListening) onInterrupt(() => interrupt.abort(new CommandError('Interrupted.', exitCodes.interrupted)))
      isListening = true
      return interrupt.signal
    },
  }
  return Object.assign(
    context,
    needs.includes('control') && { control: (await import('./control-client.ts')).createControl(options) },
    needs.includes('configuration') && {
      configuration: (await import('./configuration.ts')).createConfiguration(options.config),
    },
  ) as CommandContext<'control' | 'configuration'>
}

function createTerminal(): Terminal {
  stopAtClosedPipe()
  const isInteractive = process.stdin.isTTY && process.stdout.isTTY
  let asker: Promise<Terminal['ask']> | undefined
  return {
    isInteractive,
    print,
    write: (text) => void process.stdout.write(escapeForTerminal(text)),
    notify: (sentence) => void process.stderr.write(`${escapeForTerminal(sentence)}\n`),
    printJson,
    printRow,
    printList,
    printFields,
    showProgress: async (steps, options) => (await import('./progress.ts')).createProgressView(steps, options),
    choose: async (question, choices) => (await import('./prompts.ts')).choose(question, choices),
    ask: async (...question) =>
      await (
        await (asker ??= import('./prompts.ts').then(({ createAsker }) => createAsker(isInteractive)))
      )(...question),
    commandLine,
  }
}
