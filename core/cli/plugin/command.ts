// Declares the commands of plugins: `plugin new`, `plugin check`, `plugin add`, `plugin list` and `plugin remove`, and
// what `plugin check` runs in another process.
import { defineCommand } from '../../plugin/command.ts'
import type { ListedCommand } from '../parser.ts'
import { configOption } from '../start/command.ts'

const newPlugin = defineCommand({
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
    panel: { description: 'also write a panel for the control page (channel, toolset, preset)' },
    dir: {
      value: '<folder>',
      description: 'the folder to create (default: ./svc-gateway-plugin-<name>)',
      completes: 'file',
    },
  },
  json: 'one JSON object',
  examples: ['plugin new weather --kind toolset', 'plugin new shop --kind preset --panel --dir plugins/shop'],
  run: async (input) => (await import('./new-plugin.ts')).createPlugin(input),
})

const checkPlugin = defineCommand({
  name: 'plugin check',
  description:
    'Find everything that a gateway would refuse in a plugin, and which level of the quality scale it has. Needs no ' +
    'configuration.',
  arguments: {
    plugin: {
      description: 'the folder of a package, or the file of a module (default: this folder)',
      completes: 'file',
      optional: true,
    },
  },
  options: {
    test: { description: 'also run the tests of the package (npm test), and find out what they prove' },
    strict: { description: 'also exit with 1 for a warning' },
  },
  json: 'one JSON object',
  examples: ['plugin check', 'plugin check --test', 'plugin check ./dice.ts --strict'],
  run: async (input) => (await import('./check-plugin.ts')).checkPlugin(input),
})

const probePlugin = defineCommand({
  name: 'probe-plugin',
  description: 'Import a plugin for "plugin check", and report what it declares and does.',
  arguments: { plugin: { description: 'the plugin' } },
  options: { cache: { value: '<folder>', description: 'the folder for compiled code', required: true } },
  examples: [],
  run: async (input) => (await import('./probe-plugin.ts')).probePlugin(input),
})

const addPlugin = defineCommand({
  name: 'plugin add',
  description: 'Install the package of a plugin, check it, and add it to the configuration. Its scripts do not run.',
  arguments: {
    package: { description: 'a package of npm, with a version if you like, or the path of a .tgz file or a folder' },
  },
  options: { config: configOption },
  json: 'one JSON object',
  examples: ['plugin add svc-gateway-plugin-dice', 'plugin add ./svc-gateway-plugin-dice-1.0.0.tgz'],
  run: async (input, context) => (await import('./installed-plugins.ts')).addPlugin(input, context),
})

const listPlugins = defineCommand({
  name: 'plugin list',
  description: 'List the plugins of the configuration, with their versions and what they bring.',
  options: { config: configOption },
  json: 'one JSON object per line',
  examples: ['plugin list'],
  run: async (input, context) => (await import('./installed-plugins.ts')).listPlugins(input, context),
})

const removePlugin = defineCommand({
  name: 'plugin remove',
  description: 'Remove a plugin from the configuration, and uninstall its package.',
  arguments: { plugin: { description: 'the entry of `plugins`' } },
  options: { config: configOption },
  json: 'one JSON object',
  examples: ['plugin remove svc-gateway-plugin-dice'],
  run: async (input, context) => (await import('./installed-plugins.ts')).removePlugin(input, context),
})

export const pluginCommands: readonly ListedCommand[] = [
  newPlugin,
  checkPlugin,
  addPlugin,
  listPlugins,
  removePlugin,
  { ...probePlugin, isHidden: true, staysRunning: true },
]
