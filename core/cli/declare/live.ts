// Declares the commands that stay connected to a running gateway: `tail` and `chat`.
import { type Command, Option } from 'commander'
import { addControlOptions, addExamples, collect, parseCount } from './options.ts'

export function registerLive(program: Command): void {
  registerTail(program)
  registerChat(program)
}

function registerTail(program: Command): void {
  const command = program
    .command('tail')
    .description('Print what happens in the running gateway, one line each, until Ctrl-C.')
    .option('--topic <topic>', 'request, event, run, outbox or log; repeatable (default: all)', collect, [])
    .option('--hook <name>', 'only requests, runs and log lines of this hook')
    .option('--run <id>', 'only what belongs to this run')
    .addOption(
      new Option('--level <level>', 'only log lines of this level or above').choices([
        'debug',
        'info',
        'warn',
        'error',
      ]),
    )
    .option('--limit <number>', 'end after this many lines', parseCount)
    .action(async (options) => (await import('../live/tail.ts')).tail(options))
  addControlOptions(command).option('--json', 'one JSON object per line: the topic and its record')
  addExamples(command, 'tail --hook deploys', 'tail --topic log --level warn --json')
}

function registerChat(program: Command): void {
  const command = program
    .command('chat')
    .description('Talk to an agent. In a terminal, Ctrl-C cancels a turn, and ends the chat between turns.')
    .argument('[message]', 'one message, instead of a conversation; standard input if it is not a terminal')
    .option('--session <key>', 'the session to talk in (default: the main session of the default agent)')
    .action(async (message, options) => (await import('../live/chat.ts')).chat(message, options))
  addControlOptions(command).option('--json', 'each reply as one JSON object')
  addExamples(command, 'chat', "chat 'What failed last night?'", 'chat --session review < notes.md')
}
