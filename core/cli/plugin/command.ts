// Declares the command `plugin new`.
import { defineCommand } from '../../plugin/command.ts'

export const newPluginCommand = defineCommand({
  name: 'plugin new',
  group: 'Work on plugins.',
  description: 'Write the package of a new plugin: working code, its tests, and what to do next.',
  arguments: { name: { description: 'the name of the extension: lower-case letters, digits and dashes' } },
  options: {
    kind: {
      value: '<kind>',
      description: 'what the plugin adds',
      choices: ['channel', 'toolset', 'preset', 'provider', 'command'],
      required: true,
    },
    dir: {
      value: '<folder>',
      description: 'the folder to create (default: ./svc-gateway-plugin-<name>)',
      completes: 'file',
    },
  },
  json: 'one JSON object',
  examples: ['plugin new weather --kind toolset', 'plugin new shop --kind preset --dir plugins/shop'],
  run: async (input) => (await import('./new-plugin.ts')).createPlugin(input),
})
