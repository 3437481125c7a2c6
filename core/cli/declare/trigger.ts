// Declares the command `trigger`.
import type { Command } from 'commander'
import { addExamples, collect, parseAddress, parseSeconds } from './options.ts'

export function registerTrigger(program: Command): void {
  const command = program
    .command('trigger')
    .description('Send a request to a hook as its sender would, signed with the configured secret.')
    .argument('<hook>', 'the name of the hook: "wake", "agent", a preset, or the path of a mapping')
    .option('--data <text>', 'the payload')
    .option('--file <file>', 'a file with the payload; "-" is standard input')
    .option('--sample [name]', 'a sample of the preset instead of a payload: this one, or the first')
    .option('--list-samples', 'print the names of the samples of the preset and send nothing')
    .option('--header <name: value>', 'a header of the request, such as the type of the event; repeatable', collect, [])
    .option('--mapping <id>', 'sign as this mapping requires, if several mappings have the same path')
    .option('--scheme <scheme>', 'sign with this scheme instead of the configured one')
    .option('--secret <secret>', 'sign with this secret instead of the configured one')
    .option('--token <token>', 'the hook token (default: $SVC_GATEWAY_HOOK_TOKEN, or the configuration)')
    .option('--config <file>', 'configuration file with the hook and its secret (default: as for start)')
    .option('--url <address>', 'address of the gateway (default: $SVC_GATEWAY_URL, or the configuration)', parseAddress)
    .option('--wait <seconds>', 'wait for the run; exit with 1 unless it succeeds', parseSeconds)
    .option('--dry-run', 'print the request and send nothing')
    .option('--json', 'with --dry-run or --list-samples: JSON, one object per line; a response is printed as it is')
    .action(async (hook, options) => (await import('../trigger/trigger.ts')).trigger(hook, options))
  addExamples(
    command,
    `trigger deploys --data '{"service":"shop"}' --wait 60`,
    'trigger github --sample pull-request-opened --wait 60',
    "trigger github --file push.json --header 'x-github-event: push'",
    'trigger stripe --file charge.json --url https://gateway.example.com --secret whsec_…',
  )
}
