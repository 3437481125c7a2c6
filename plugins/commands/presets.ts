// The commands `presets list`, `presets setup` and `gmail setup`.
import { CommandError, type Configuration, defineCommand, type Terminal } from 'svc-gateway/plugin'

interface Job {
  preset: string
  state: string
  since: string
  reason?: string
}

const list = defineCommand({
  name: 'presets list',
  group: 'Show the jobs of presets, and set up presets.',
  description: 'List the jobs of the enabled presets.',
  needs: ['control'],
  json: 'one JSON object per line, as in the API',
  examples: ['presets list'],
  run: async ({ json }, { control, terminal }) => {
    const { jobs } = await control.get<{ jobs: Job[] }>('/api/extensions')
    await terminal.printList(jobs, {
      noun: 'jobs of enabled presets',
      json,
      columns: {
        PRESET: ({ preset }) => preset,
        STATE: ({ state }) => state,
        SINCE: ({ since }) => since,
        REASON: ({ reason }) => reason,
      },
    })
  },
})

const setup = defineCommand({
  name: 'presets setup',
  description: 'Run the setup of a preset and write its section of the configuration.',
  arguments: { name: { description: 'the preset', completes: 'preset' } },
  options: {
    answer: { value: '<name=value>', description: 'an answer to the setup; repeatable', repeatable: true },
  },
  needs: ['configuration'],
  json: 'one JSON object per line',
  examples: ['presets setup news --answer token=abc'],
  run: async ({ name, answer, json }, context) => {
    const answers = answer.map((text) => {
      const at = text.indexOf('=')
      if (at < 1) throw new CommandError('--answer must have the form name=value.')
      return [text.slice(0, at), text.slice(at + 1)]
    })
    await setUp(name, { answers: Object.fromEntries(answers), json }, context)
  },
})

const gmail = defineCommand({
  name: 'gmail setup',
  group: 'Connect a Gmail mailbox.',
  description: 'Get access to a mailbox, prepare notifications, and write hooks.gmail.',
  options: {
    account: { value: '<address>', description: 'the address of the mailbox', required: true },
    client: {
      value: '<file>',
      description: 'JSON file of an OAuth client or of a service account (default: the stored credentials)',
      completes: 'file',
    },
    mode: { value: '<mode>', description: 'how new mail is noticed', choices: ['poll', 'pull', 'push'] },
    label: { value: '<label>', description: 'only mails with this label (default: INBOX)' },
    project: {
      value: '<id>',
      description: 'for pull and push: the Google Cloud project (default: that of the client)',
    },
    pushEmail: { value: '<address>', description: 'for push: the service account with which Pub/Sub signs' },
  },
  needs: ['configuration'],
  json: 'one JSON object per line',
  examples: ['gmail setup --account me@gmail.com --client client.json'],
  run: async ({ account, client, mode, label, project, pushEmail, json }, context) => {
    const answers = { account, client, mode, label, project, 'push-email': pushEmail }
    await setUp('gmail', { answers, json }, context)
  },
})

interface Setup {
  answers: Readonly<Record<string, string | undefined>>
  json: boolean | undefined
}

async function setUp(
  name: string,
  { answers, json }: Setup,
  { configuration, terminal }: { configuration: Configuration; terminal: Terminal },
): Promise<void> {
  const given = Object.fromEntries(Object.entries(answers).filter(([, value]) => value !== undefined))
  await configuration.setUpPreset(name, given, (kind, sentence) => {
    if (json) terminal.printJson({ [kind]: sentence })
    else terminal.print(`${kind === 'done' ? 'ok   ' : 'TO DO'} ${sentence}`)
  })
}

export default [list, setup, gmail]
