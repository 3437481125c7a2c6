// Declares the commands that run the gateway or check its configuration: `start` and `check`.
import { type Command, Option } from 'commander'
import { addExamples, parsePort } from './options.ts'

export function registerStart(program: Command): void {
  const command = program
    .command('start', { isDefault: true })
    .description('Run the gateway. The first run writes a configuration.')
    .option(
      '--config <file>',
      'configuration file (default: $SVC_GATEWAY_CONFIG, ./gateway.json5, ~/.svc-gateway/gateway.json5)',
    )
    .option('--port <number>', 'port to listen on instead of gateway.port; 0 picks a free one', parsePort)
    .option('--watch', 'restart the gateway when a file of a plugin changes, for plugin authors')
    .addOption(new Option('--watched').hideHelp())
    .action(async ({ watch, ...options }) =>
      watch ? (await import('../watch/watch.ts')).watch(options) : (await import('../start/start.ts')).start(options),
    )
  addExamples(command, '', 'start --config /etc/svc-gateway/gateway.json5 --port 8080')
  // Runs in a process of its own for `start --watch`.
  program
    .command('probe-plugins', { hidden: true })
    .requiredOption('--config <file>')
    .action(async (options) => (await import('../watch/probe-plugins.ts')).probePlugins(options))
}

export function registerCheck(program: Command): void {
  const command = program
    .command('check')
    .description('Check the configuration without starting the gateway. Exits with 1 if there is an error.')
    .option(
      '--config <file>',
      'configuration file (default: $SVC_GATEWAY_CONFIG, ./gateway.json5, ~/.svc-gateway/gateway.json5)',
    )
    .option('--strict', 'also exit with 1 for a warning')
    .option('--json', 'one JSON object per error or warning; nothing if there is none')
    .action(async (options) => (await import('../check.ts')).check(options))
  addExamples(command, 'check --config /etc/svc-gateway/gateway.json5 --strict')
}
