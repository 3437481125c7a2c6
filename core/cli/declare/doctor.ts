// Declares the command `doctor`.
import type { Command } from 'commander'
import { addControlOptions, addExamples } from './options.ts'

export function registerDoctor(program: Command): void {
  const command = program
    .command('doctor')
    .description('Find what is wrong with a gateway and how to fix it. Exits with 1 if there is an error.')
    .option('--strict', 'also exit with 1 for a warning')
    .option('--offline', 'do not ask model servers and databases')
    .option('--json', 'one JSON object per finding')
    .action(async (options) => (await import('../doctor/doctor.ts')).doctor(options))
  addExamples(addControlOptions(command), 'doctor', 'doctor --config /etc/svc-gateway/gateway.json5 --json')
}
