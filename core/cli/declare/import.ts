// Declares the command `import`.
import type { Command } from 'commander'
import { addExamples } from './options.ts'

export function registerImport(program: Command): void {
  const command = program
    .command('import')
    .description('Take over the configuration of another program.')
    .command('openclaw')
    .description('Write a configuration from openclaw.json, and list what could not be carried over, and why.')
    .argument('<file>', 'the configuration of openclaw')
    .option('--config <file>', 'the file to write (default: the one that setup writes)')
    .option('--force', 'replace an existing file')
    .action(async (file, options) => (await import('../import/openclaw.ts')).importOpenclaw(file, options))
  addExamples(command, 'import openclaw ~/.openclaw/openclaw.json')
}
