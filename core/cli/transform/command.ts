// Declares the commands about transforms.
import { defineCommand } from '../../plugin/command.ts'
import { fileOption } from '../parser.ts'

const config = fileOption(
  'configuration file that defines the transforms directory (default: as for start, else ./transforms)',
)

const test = defineCommand({
  name: 'transform test',
  group: 'Write and test transforms.',
  description: 'Run a transform on a payload in the sandbox and print its result, without starting anything.',
  arguments: {
    module: { description: 'the transform, relative to the transforms directory', completes: 'transform' },
  },
  options: {
    payload: {
      value: '<file>',
      description: 'a file with the payload as JSON; "-" is standard input',
      required: true,
      completes: 'file',
    },
    header: { value: '<name: value>', description: 'a header of the request; repeatable', repeatable: true },
    export: {
      value: '<name>',
      description: 'the function to call, as in transform.export',
      default: 'default',
    },
    now: { value: '<time>', description: 'the time of the request, ISO 8601' },
    config,
  },
  json: 'one JSON object',
  examples: ['transform test orders.ts --payload order.json'],
  run: async (input) => (await import('./test-transform.ts')).testTransform(input),
})

const create = defineCommand({
  name: 'transform new',
  description: 'Write a transform and a sample of its payload, and print how to test and use it.',
  arguments: { name: { description: 'the name of the file, without its folder' } },
  options: {
    hook: { value: '<path>', description: 'the path of the hook in the printed mapping (default: the name)' },
    config,
  },
  json: 'one JSON object',
  examples: ['transform new disk-alerts --hook monitoring/disks'],
  run: async (input) => (await import('./new-transform.ts')).createTransform(input),
})

export const transformCommands = [test, create]
