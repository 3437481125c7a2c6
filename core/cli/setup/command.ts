// Declares the command `setup`.
import { defineCommand } from '../../plugin/command.ts'
import { fileOption } from '../parser.ts'
import { parsePort } from '../start/command.ts'

export const setupCommand = defineCommand({
  name: 'setup',
  description: 'Write a first configuration with new tokens. In a terminal, it asks for what the options do not say.',
  options: {
    config: fileOption('the file to write (default: the one that start uses)'),
    force: { description: 'replace an existing file, which is kept under another name' },
    yes: { description: 'ask nothing, also in a terminal' },
    model: {
      value: '<provider/model>',
      description: 'the model, such as anthropic/claude-sonnet-4-5 or ollama/llama3.2',
    },
    provider: {
      value: '<kind>',
      description: 'the provider of the model, if the name before the slash is another one',
    },
    baseUrl: { value: '<url>', description: "address of the model's API, such as http://127.0.0.1:11434/v1" },
    apiKeyEnv: {
      value: '<variable>',
      description: 'environment variable with the API key (default: the usual one)',
    },
    channel: { value: '<name>', description: 'connect this channel; repeatable', repeatable: true },
    preset: { value: '<name>', description: 'enable this preset; repeatable', repeatable: true },
    port: { value: '<number>', description: 'port to listen on (default: 18789)', parse: parsePort },
    bind: { value: '<address>', description: 'address to listen on (default: 127.0.0.1)' },
    set: { value: '<key=value>', description: 'set any key of the configuration; repeatable', repeatable: true },
    noTest: { description: 'do not try the model and the channels' },
  },
  json: 'ask nothing, and print one JSON object',
  examples: [
    'setup',
    'setup --yes --model ollama/llama3.2',
    'setup --yes --model ollama/llama3.2 --channel telegram --set channels.telegram.allowFrom=123456 --preset github',
  ],
  run: async (input) => (await import('./setup.ts')).setup(input),
})
