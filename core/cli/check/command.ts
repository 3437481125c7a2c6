// Declares the command `check`.
import { defineCommand } from '../../plugin/command.ts'
import { configOption } from '../start/command.ts'

export const checkCommand = defineCommand({
  name: 'check',
  description: 'Check the configuration without starting the gateway. Exits with 1 if there is an error.',
  options: { config: configOption, strict: { description: 'also exit with 1 for a warning' } },
  json: 'one JSON object per error or warning; nothing if there is none',
  examples: ['check --config /etc/svc-gateway/gateway.json5 --strict'],
  run: async (input) => (await import('./check.ts')).check(input),
})
