// Declares the command `setup`.
import type { Command } from 'commander'
import { addExamples, collect, parsePort } from './options.ts'

export function registerSetup(program: Command): void {
  const command = program
    .command('setup')
    .description('Write a first configuration with new tokens. In a terminal, it asks for what the options do not say.')
    .option('--config <file>', 'the file to write (default: the one that start uses)')
    .option('--force', 'replace an existing file, which is kept under another name')
    .option('--yes', 'ask nothing, also in a terminal')
    .option('--model <provider/model>', 'the model, such as anthropic/claude-sonnet-4-5 or ollama/llama3.2')
    .option('--provider <kind>', 'the provider of the model, if the name before the slash is another one')
    .option('--base-url <url>', "address of the model's API, such as http://127.0.0.1:11434/v1")
    .option('--api-key-env <variable>', 'environment variable with the API key (default: the usual one)')
    .option('--channel <name>', 'connect this channel; repeatable', collect, [])
    .option('--preset <name>', 'enable this preset; repeatable', collect, [])
    .option('--port <number>', 'port to listen on (default: 18789)', parsePort)
    .option('--bind <address>', 'address to listen on (default: 127.0.0.1)')
    .option('--set <key=value>', 'set any key of the configuration; repeatable', collect, [])
    .option('--no-test', 'do not try the model and the channels')
    .option('--json', 'ask nothing, and print one JSON object')
    .action(async (options) => (await import('../setup/setup.ts')).setup(options))
  addExamples(
    command,
    'setup',
    'setup --yes --model ollama/llama3.2',
    'setup --yes --model ollama/llama3.2 --channel telegram --set channels.telegram.allowFrom=123456 --preset github',
  )
}
