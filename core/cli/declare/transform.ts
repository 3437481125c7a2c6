// Declares the commands about transforms.
import type { Command } from 'commander'
import { addExamples, collect } from './options.ts'

export function registerTransform(program: Command): void {
  const transform = program.command('transform').description('Write and test transforms.')
  const test = transform
    .command('test')
    .description('Run a transform on a payload in the sandbox and print its result, without starting anything.')
    .argument('<module>', 'the transform, relative to the transforms directory')
    .requiredOption('--payload <file>', 'a file with the payload as JSON; "-" is standard input')
    .option('--header <name: value>', 'a header of the request; repeatable', collect, [])
    .option('--export <name>', 'the function to call, as in transform.export', 'default')
    .option('--now <time>', 'the time of the request, ISO 8601')
    .option('--config <file>', configDescription)
    .option('--json', 'one JSON object')
    .action(async (module, options) => (await import('../transform/test-transform.ts')).testTransform(module, options))
  addExamples(test, 'transform test orders.ts --payload order.json')
  const create = transform
    .command('new')
    .description('Write a transform and a sample of its payload, and print how to test and use it.')
    .argument('<name>', 'the name of the file, without its folder')
    .option('--hook <path>', 'the path of the hook in the printed mapping (default: the name)')
    .option('--config <file>', configDescription)
    .option('--json', 'one JSON object')
    .action(async (name, options) => (await import('../transform/new-transform.ts')).createTransform(name, options))
  addExamples(create, 'transform new disk-alerts --hook monitoring/disks')
}

const configDescription =
  'configuration file that defines the transforms directory (default: as for start, else ./transforms)'
