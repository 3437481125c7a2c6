// Declares the commands of `import`.
import type { Command } from 'commander'
import { addExamples } from './options.ts'

export function registerImport(program: Command): void {
  const group = program.command('import').description('Take over what other programs and services use.')
  const openclaw = group
    .command('openclaw')
    .description(
      'Write a configuration from openclaw.json, and list what it runs, sends and opens, and what is left out.',
    )
    .argument('<file>', 'the configuration of openclaw')
    .option('--config <file>', 'the file to write (default: the one that setup writes)')
    .option('--yes', 'write the configuration without asking whether it may run, send and open what is listed')
    .option('--force', 'replace an existing file')
    .option('--json', 'one JSON object')
    .action(async (file, options) => (await import('../import/openclaw.ts')).importOpenclaw(file, options))
  addExamples(openclaw, 'import openclaw ~/.openclaw/openclaw.json')
  const curl = group
    .command('curl')
    .description('Make a mapping, a sample and a test from the curl command with which a service shows its webhook.')
    .argument('[file]', 'a file with the command; "-" is standard input', '-')
    .option('--name <name>', 'the name of the hook (default: from the address of the command, or "webhook")')
    .option('--dir <folder>', 'where to write the sample and the test', '.')
    .option('--json', 'one JSON object')
    .action(async (file, options) => (await import('../import/curl.ts')).importCurl(file, options))
  addExamples(curl, 'import curl example.sh --name orders', 'import curl --name orders < example.sh')
}
