// Declares the command `doctor`.
import { defineCommand } from '../../plugin/command.ts'
import { controlOptions } from '../parser.ts'

export const doctorCommand = defineCommand({
  name: 'doctor',
  description: 'Find what is wrong with a gateway and how to fix it. Exits with 1 if there is an error.',
  options: {
    strict: { description: 'also exit with 1 for a warning' },
    offline: { description: 'do not ask model servers and databases' },
    ...controlOptions,
  },
  json: 'one JSON object per finding',
  examples: ['doctor', 'doctor --config /etc/svc-gateway/gateway.json5 --json'],
  run: async (input) => (await import('./doctor.ts')).doctor(input),
})
