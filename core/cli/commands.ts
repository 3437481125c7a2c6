// Declares the commands, their options and their help texts. The code of a command is imported only when it runs, so
// that help is printed without loading the gateway.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { runStatuses } from '../store/run-spec.ts'
import { registerInspection } from './declare/inspection.ts'
import { registerLive } from './declare/live.ts'
import { addControlOptions, addExamples, collect, parseCount, parseTime } from './declare/options.ts'
import { registerTrigger } from './declare/trigger.ts'

export function registerCommands(program: Command): void {
  registerStart(program)
  registerCheck(program)
  registerSetup(program)
  registerBackup(program)
  registerImport(program)
  registerTransform(program)
  registerRequests(program)
  registerReplay(program)
  registerTrigger(program)
  registerInspection(program)
  registerLive(program)
  registerPairing(program)
  registerChannels(program)
  registerPresets(program)
  registerGmail(program)
}

function registerStart(program: Command): void {
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
      watch ? (await import('./watch/watch.ts')).watch(options) : (await import('./start.ts')).start(options),
    )
  addExamples(command, '', 'start --config /etc/svc-gateway/gateway.json5 --port 8080')
  // Runs in a process of its own for `start --watch`.
  program
    .command('probe-plugins', { hidden: true })
    .requiredOption('--config <file>')
    .action(async (options) => (await import('./watch/probe-plugins.ts')).probePlugins(options))
}

function registerCheck(program: Command): void {
  const command = program
    .command('check')
    .description('Check the configuration without starting the gateway. Exits with 1 if there is an error.')
    .option(
      '--config <file>',
      'configuration file (default: $SVC_GATEWAY_CONFIG, ./gateway.json5, ~/.svc-gateway/gateway.json5)',
    )
    .option('--strict', 'also exit with 1 for a warning')
    .action(async (options) => (await import('./check.ts')).check(options))
  addExamples(command, 'check --config /etc/svc-gateway/gateway.json5 --strict')
}

function registerSetup(program: Command): void {
  const command = program
    .command('setup')
    .description('Write a first configuration with new tokens.')
    .option('--config <file>', 'the file to write (default: the one that start uses)')
    .option('--force', 'replace an existing file')
    .action(async (options) => (await import('./setup.ts')).setup(options))
  addExamples(command, 'setup --config /etc/svc-gateway/gateway.json5')
}

function registerBackup(program: Command): void {
  const backup = program
    .command('backup')
    .description('Write one archive with the configuration, the store, workspaces and transforms. The gateway may run.')
    .argument('<file>', 'the archive to write, such as gateway.tar.gz')
    .option('--config <file>', 'configuration file of the gateway (default: as for start)')
    .option('--force', 'replace an existing file')
    .action(async (file, options) => (await import('./backup/backup.ts')).backup(file, options))
  addExamples(backup, 'backup gateway.tar.gz')
  const restore = program
    .command('restore')
    .description('Restore a backup. The gateway must be stopped.')
    .argument('<file>', 'the archive, from "backup"')
    .option('--config <file>', 'where to restore the configuration file (default: as for start)')
    .option('--force', 'replace existing files, which are kept under another name')
    .action(async (file, options) => (await import('./backup/restore.ts')).restore(file, options))
  addExamples(restore, 'restore gateway.tar.gz')
}

function registerImport(program: Command): void {
  const command = program
    .command('import')
    .description('Take over the configuration of another program.')
    .command('openclaw')
    .description('Write a configuration from openclaw.json, and list what could not be carried over, and why.')
    .argument('<file>', 'the configuration of openclaw')
    .option('--config <file>', 'the file to write (default: the one that setup writes)')
    .option('--force', 'replace an existing file')
    .action(async (file, options) => (await import('./import/openclaw.ts')).importOpenclaw(file, options))
  addExamples(command, 'import openclaw ~/.openclaw/openclaw.json')
}

function registerTransform(program: Command): void {
  const command = program
    .command('transform')
    .description('Work on transforms.')
    .command('test')
    .description('Run a transform on a payload in the sandbox and print its result, without starting anything.')
    .argument('<module>', 'the transform, relative to the transforms directory')
    .requiredOption('--payload <file>', 'a file with the payload as JSON; "-" is standard input')
    .option('--header <name: value>', 'a header of the request; repeatable', collect, [])
    .option('--export <name>', 'the function to call, as in transform.export', 'default')
    .option('--now <time>', 'the time of the request, ISO 8601')
    .option(
      '--config <file>',
      'configuration file that defines the transforms directory (default: as for start, else ./transforms)',
    )
    .action(async (module, options) => (await import('./transform.ts')).testTransform(module, options))
  addExamples(command, 'transform test orders.ts --payload order.json')
}

function registerRequests(program: Command): void {
  const command = program
    .command('requests')
    .description('List the webhook requests of the running gateway, newest first, or show one of them.')
    .argument('[request-id]', 'the id of the request, from the list')
  addControlOptions(addFilterOptions(command))
    .option('--limit <number>', 'maximum number of lines', parseCount, 50)
    .option('--json', 'one JSON object per line, as in the API')
    .action(async (id, options) => (await import('./requests.ts')).printRequests(id, options))
  addExamples(command, 'requests --hook deploys --since 2h', 'requests --status rejected --json')
}

function registerReplay(program: Command): void {
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
    .action(async (id, options) => (await import('./replay.ts')).replay(id, options))
  addExamples(
    command,
    'replay 01a1f947-4187-78bf-9116-2f771f2d2481 --dry-run',
    'replay --hook deploys --since 2h --run-status failed --yes',
  )
}

function registerPairing(program: Command): void {
  const pairing = program.command('pairing').description('Approve senders that may write to the agents on a channel.')
  const list = pairing
    .command('list')
    .description('List the senders that wait for approval or have it.')
    .action(async (options) => (await import('./pairing.ts')).listPairings(options))
  addExamples(addControlOptions(list).option('--json', 'one JSON object per line, as in the API'), 'pairing list')
  const approve = pairing
    .command('approve')
    .description('Approve the sender that was given this code.')
    .argument('<code>', 'the code, from the sender or from "pairing list"')
    .action(async (code, options) => (await import('./pairing.ts')).approvePairing(code, options))
  addExamples(addControlOptions(approve), 'pairing approve K7M2QX9D')
  const revoke = pairing
    .command('revoke')
    .description('Withdraw the approval of a sender.')
    .argument('<channel>', 'the name of the channel')
    .argument('<sender>', 'the id of the sender, from "pairing list"')
    .option('--account <id>', 'the account of the channel (default: default)')
    .action(async (channel, sender, options) => (await import('./pairing.ts')).revokePairing(channel, sender, options))
  addExamples(addControlOptions(revoke), 'pairing revoke telegram 123456789')
}

function registerChannels(program: Command): void {
  const channels = program.command('channels').description('Show and link the channels of the running gateway.')
  const list = channels
    .command('list')
    .description('List the configured accounts and their states.')
    .action(async (options) => (await import('./channels.ts')).listChannels(options))
  addExamples(addControlOptions(list).option('--json', 'one JSON object per line, as in the API'), 'channels list')
  const login = channels
    .command('login')
    .description('Link an account: shows the code to scan or to type.')
    .action(async (name, options) => (await import('./channels.ts')).login(name, options))
  addExamples(addAccountOptions(login), 'channels login whatsapp')
  const logout = channels
    .command('logout')
    .description('Unlink an account.')
    .action(async (name, options) => (await import('./channels.ts')).logout(name, options))
  addExamples(addAccountOptions(logout), 'channels logout whatsapp --account work')
}

function registerPresets(program: Command): void {
  const collect = (text: string, before: Record<string, string>): Record<string, string> => {
    const [name = '', ...value] = text.split('=')
    return { ...before, [name]: value.join('=') }
  }
  const presets = program.command('presets').description('Show the jobs of presets, and set up presets.')
  const list = addControlOptions(presets.command('list').description('List the jobs of the enabled presets.'))
    .option('--json', 'one JSON object per line, as in the API')
    .action(async (options) => (await import('./presets/list.ts')).listJobs(options))
  addExamples(list, 'presets list')
  const command = presets
    .command('setup')
    .description('Run the setup of a preset and write its section of the configuration.')
    .argument('<name>', 'the preset')
    .option('--answer <name=value>', 'an answer to the setup; repeatable', collect, {})
    .option('--config <file>', 'configuration file to change (default: as for start)')
    .option('--json', 'one JSON object per line')
    .action(async (name, { answer, ...options }) =>
      (await import('./presets/setup.ts')).setUpPreset(name, { ...answer, ...options }),
    )
  addExamples(command, 'presets setup news --answer token=abc')
}

function registerGmail(program: Command): void {
  const command = program
    .command('gmail')
    .description('Connect a Gmail mailbox.')
    .command('setup')
    .description('Get access to a mailbox, prepare notifications, and write hooks.gmail.')
    .requiredOption('--account <address>', 'the address of the mailbox')
    .option('--client <file>', 'JSON file of an OAuth client or of a service account (default: the stored credentials)')
    .addOption(new Option('--mode <mode>', 'how new mail is noticed').choices(['poll', 'pull', 'push']))
    .option('--label <label>', 'only mails with this label (default: INBOX)')
    .option('--project <id>', 'for pull and push: the Google Cloud project (default: that of the client)')
    .option('--push-email <address>', 'for push: the service account with which Pub/Sub signs')
    .option('--config <file>', 'configuration file to change (default: as for start)')
    .option('--json', 'one JSON object per line')
    .action(async ({ pushEmail, ...options }) =>
      (await import('./presets/setup.ts')).setUpPreset('gmail', {
        ...options,
        ...(pushEmail && { 'push-email': pushEmail }),
      }),
    )
  addExamples(command, 'gmail setup --account me@gmail.com --client client.json')
}

const addAccountOptions = (command: Command): Command =>
  addControlOptions(
    command.argument('<name>', 'the channel').option('--account <id>', 'the account, if several are configured'),
  )

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

function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
  return port
}
