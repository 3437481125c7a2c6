// Declares the commands about presets: `presets` and `gmail`.
import { type Command, Option } from 'commander'
import { addControlOptions, addExamples } from './options.ts'

export function registerPresets(program: Command): void {
  const collect = (text: string, before: Record<string, string>): Record<string, string> => {
    const [name = '', ...value] = text.split('=')
    return { ...before, [name]: value.join('=') }
  }
  const presets = program.command('presets').description('Show the jobs of presets, and set up presets.')
  const list = addControlOptions(presets.command('list').description('List the jobs of the enabled presets.'))
    .option('--json', 'one JSON object per line, as in the API')
    .action(async (options) => (await import('../presets/list.ts')).listJobs(options))
  addExamples(list, 'presets list')
  const command = presets
    .command('setup')
    .description('Run the setup of a preset and write its section of the configuration.')
    .argument('<name>', 'the preset')
    .option('--answer <name=value>', 'an answer to the setup; repeatable', collect, {})
    .option('--config <file>', 'configuration file to change (default: as for start)')
    .option('--json', 'one JSON object per line')
    .action(async (name, { answer, ...options }) =>
      (await import('../presets/setup.ts')).setUpPreset(name, { ...answer, ...options }),
    )
  addExamples(command, 'presets setup news --answer token=abc')
}

export function registerGmail(program: Command): void {
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
      (await import('../presets/setup.ts')).setUpPreset('gmail', {
        ...options,
        ...(pushEmail && { 'push-email': pushEmail }),
      }),
    )
  addExamples(command, 'gmail setup --account me@gmail.com --client client.json')
}
