// Declares the commands about stored webhook requests: `requests` and `replay`.
import { type Command, Option } from 'commander'
import { runStatuses } from '../../store/run-spec.ts'
import { addControlOptions, addExamples, parseCount, parseTime } from './options.ts'

export function registerRequests(program: Command): void {
  const command = program
    .command('requests')
    .description('List the webhook requests of the running gateway, newest first, or show one of them.')
    .argument('[request-id]', 'the id of the request, from the list')
  addControlOptions(addFilterOptions(command))
    .option('--limit <number>', 'maximum number of lines', parseCount, 50)
    .option('--json', 'one JSON object per line, as in the API')
    .action(async (id, options) => (await import('../requests/requests.ts')).printRequests(id, options))
  addExamples(command, 'requests --hook deploys --since 2h', 'requests --status rejected --json')
}

export function registerReplay(program: Command): void {
  const command = program
    .command('replay')
    .description('Replay a request of the running gateway, or all requests that a filter selects.')
    .argument('[request-id]', 'the id of the request, from "requests"')
    .option('--dry-run', 'show what would happen without starting anything')
    .option('--mapping <id>', 'use this mapping or preset instead of the one that matches')
    .option('--body <file>', 'use the JSON in this file instead of the stored body; "-" is standard input')
  addControlOptions(addFilterOptions(command))
    .option('--yes', 'with a filter: replay the requests after the dry run')
    .option('--again', 'with a filter: include requests that were already replayed')
    .option('--limit <number>', 'with a filter: do not start if more requests match', parseCount, 100)
    .option('--rate <number>', 'with a filter: maximum requests per second', parseCount, 5)
    .option('--json', 'one JSON object per line')
    .action(async (id, options) => (await import('../replay/replay.ts')).replay(id, options))
  addExamples(
    command,
    'replay 01a1f947-4187-78bf-9116-2f771f2d2481 --dry-run',
    'replay --hook deploys --since 2h --run-status failed --yes',
  )
}

const addFilterOptions = (command: Command): Command =>
  command
    .option('--hook <name>', 'only requests of this hook')
    .addOption(
      new Option('--status <status>', 'only requests with this status').choices([
        'accepted',
        'skipped',
        'rejected',
        'failed',
        'duplicate',
      ]),
    )
    .addOption(
      new Option('--run-status <status>', 'only requests that led to a run with this status').choices(runStatuses),
    )
    .option(
      '--since <time>',
      'only requests since a duration such as 2h, or a time such as 2026-11-20T08:00Z',
      parseTime,
    )
    .option('--until <time>', 'only requests before that time', parseTime)
    .option('--text <text>', 'only requests whose body contains this text')
