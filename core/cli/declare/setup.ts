// Declares the command `setup`.
import type { Command } from 'commander'
import { addExamples } from './options.ts'

export function registerSetup(program: Command): void {
  const command = program
    .command('setup')
    .description('Write a first configuration with new tokens.')
    .option('--config <file>', 'the file to write (default: the one that start uses)')
    .option('--force', 'replace an existing file')
    .action(async (options) => (await import('../setup/setup.ts')).setup(options))
  addExamples(command, 'setup --config /etc/svc-gateway/gateway.json5')
}
