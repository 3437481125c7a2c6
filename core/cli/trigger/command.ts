// Declares the command `trigger`.
import { parseWhole } from '../../kit/command-input.ts'
import { defineCommand } from '../../plugin/command.ts'
import { fileOption, controlOptions } from '../parser.ts'

export const triggerCommand = defineCommand({
  name: 'trigger',
  description: 'Send a request to a hook as its sender would, signed with the configured secret.',
  arguments: {
    hook: {
      description: 'the name of the hook: "wake", "agent", a preset, or the path of a mapping',
      completes: 'hook',
    },
  },
  options: {
    data: { value: '<text>', description: 'the payload' },
    file: { value: '<file>', description: 'a file with the payload; "-" is standard input', completes: 'file' },
    sample: {
      value: '[name]',
      description: 'a sample of the preset instead of a payload: this one, or the first',
      completes: 'sample',
    },
    listSamples: { description: 'print the names of the samples of the preset and send nothing' },
    header: {
      value: '<name: value>',
      description: 'a header of the request, such as the type of the event; repeatable',
      repeatable: true,
    },
    mapping: {
      value: '<id>',
      description: 'sign as this mapping requires, if several mappings have the same path',
      completes: 'mapping',
    },
    scheme: {
      value: '<scheme>',
      description: 'sign with this scheme instead of the configured one',
      completes: 'scheme',
    },
    secret: { value: '<secret>', description: 'sign with this secret instead of the configured one' },
    token: {
      value: '<token>',
      description: 'the hook token (default: $SVC_GATEWAY_HOOK_TOKEN, or the configuration)',
    },
    config: fileOption('configuration file with the hook and its secret (default: as for start)'),
    url: controlOptions.url,
    wait: {
      value: '<seconds>',
      description: 'wait for the run; exit with 1 unless it succeeds',
      parse: (text: string) => parseWhole(text, 1, 300),
    },
    dryRun: { description: 'print the request and send nothing' },
  },
  json: 'with --dry-run or --list-samples: JSON, one object per line; a response is printed as it is',
  examples: [
    `trigger deploys --data '{"service":"shop"}' --wait 60`,
    'trigger github --sample pull-request-opened --wait 60',
    "trigger github --file push.json --header 'x-github-event: push'",
    'trigger stripe --file charge.json --url https://gateway.example.com --secret whsec_…',
  ],
  run: async (input) => (await import('./trigger.ts')).trigger(input),
})
