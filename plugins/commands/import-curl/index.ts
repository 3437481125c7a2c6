// The command `import curl`: makes a mapping, a sample and a test from the example request of a service.
import { defineCommand } from 'svc-gateway/plugin'

export default defineCommand({
  name: 'import curl',
  description: 'Make a mapping, a sample and a test from the curl command with which a service shows its webhook.',
  arguments: {
    file: {
      description: 'a file with the command; "-" is standard input, and the default',
      optional: true,
      completes: 'file',
    },
  },
  options: {
    name: {
      value: '<name>',
      description: 'the name of the hook (default: from the address of the command, or "webhook")',
    },
    dir: {
      value: '<folder>',
      description: 'where to write the sample and the test',
      default: '.',
      completes: 'file',
    },
  },
  needs: ['configuration'],
  json: 'one JSON object',
  examples: ['import curl example.sh --name orders', 'import curl --name orders < example.sh'],
  run: async (input, context) => (await import('./import.ts')).importCurl(input, context),
})
