// The command `check`: says `ok`, or everything that is wrong with the configuration.
import type { Command } from 'commander'
import { describeProblem } from '../config/config-error.ts'
import { readCheckedConfig } from './checked-config.ts'

export function register(program: Command): void {
  program
    .command('check')
    .description('Checks the configuration and starts nothing; exit code 0 or 1.')
    .option('-c, --config <file>', 'the configuration file')
    .action(check)
}

async function check({ config: option }: { config?: string }): Promise<void> {
  const { warnings, parts } = await readCheckedConfig(option)
  for (const warning of [...parts.problems, ...warnings.map(describeProblem)]) process.stderr.write(`warning: ${warning}\n`)
  process.stdout.write('ok\n')
  parts.close()
}
