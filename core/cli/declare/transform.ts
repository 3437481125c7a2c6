// Declares the command `transform`.
import type { Command } from 'commander'
import { addExamples, collect } from './options.ts'

export function registerTransform(program: Command): void {
  const command = program
    .command('transform')
    .description('Work on transforms.')
    .command('test')
    .description('Run a transform on a payload in the sandbox and print its result, without starting anything.')
    .argument('<module>', 'the transform, relative to the transforms directory')
    .requiredOption('--payload <file>', 'a file with the payload as JSON; "-" is standard input')
    .option('--header <name: value>', 'a header of the request; repeatable', collect, [])
    .option('--export <name>', 'the function to call, as in transform.export', 'default')
    .option('--now <time>', 'the time of the request, ISO 8601')
    .option(
      '--config <file>',
      'configuration file that defines the transforms directory (default: as for start, else ./transforms)',
    )
    .action(async (module, options) => (await import('../transform/test-transform.ts')).testTransform(module, options))
  addExamples(command, 'transform test orders.ts --payload order.json')
}
