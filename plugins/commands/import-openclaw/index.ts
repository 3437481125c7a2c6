// The command `import openclaw`: writes a configuration from that of openclaw.
import { defineCommand } from 'svc-gateway/plugin'

export default defineCommand({
  name: 'import openclaw',
  group: 'Take over what other programs and services use.',
  description:
    'Write a configuration from openclaw.json, and list what it runs, sends and opens, and what is left out.',
  arguments: { file: { description: 'the configuration of openclaw', completes: 'file' } },
  options: {
    config: {
      value: '<file>',
      description: 'the file to write (default: the one that setup writes)',
      completes: 'file',
    },
    yes: { description: 'write the configuration without asking whether it may run, send and open what is listed' },
    force: { description: 'replace an existing file' },
  },
  needs: ['configuration'],
  json: 'one JSON object',
  examples: ['import openclaw ~/.openclaw/openclaw.json'],
  run: async (input, context) => (await import('./import.ts')).importOpenclaw(input, context),
})
