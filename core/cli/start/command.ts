// Declares the command `start`, and what its option `--watch` runs in other processes.
import { parseWhole } from '../../kit/command-input.ts'
import { defineCommand } from '../../plugin/command.ts'
import { fileOption, type ListedCommand } from '../parser.ts'

export const parsePort = (text: string): number => parseWhole(text, 0, 65_535)

/** Of every command that reads the configuration as the start does. */
export const configOption = fileOption(
  'configuration file (default: $SVC_GATEWAY_CONFIG, ./gateway.json5, ~/.svc-gateway/gateway.json5)',
)

const options = {
  config: configOption,
  port: {
    value: '<number>',
    description: 'port to listen on instead of gateway.port; 0 picks a free one',
    parse: parsePort,
  },
} as const

const start = defineCommand({
  name: 'start',
  description: 'Run the gateway. The first run writes a configuration.',
  options: {
    ...options,
    watch: { description: 'restart the gateway when a file of a plugin changes, for plugin authors' },
  },
  examples: ['', 'start --config /etc/svc-gateway/gateway.json5 --port 8080'],
  run: async ({ watch, ...given }) =>
    watch ? (await import('./watch.ts')).watch(given) : (await import('./start.ts')).start(given),
})

const startWatched = defineCommand({
  name: 'start-watched',
  description: 'Run the gateway for "start --watch".',
  options,
  examples: [],
  run: async (given) => (await import('./start.ts')).start({ ...given, isWatched: true }),
})

const probePlugins = defineCommand({
  name: 'probe-plugins',
  description: 'Import the plugins for "start --watch", and report whether the gateway could start with them.',
  options: { config: { ...configOption, required: true } },
  examples: [],
  run: async ({ config }) => (await import('./probe-plugins.ts')).probePlugins(config),
})

export const startCommands: readonly ListedCommand[] = [
  { ...start, isDefault: true, staysRunning: true },
  { ...startWatched, isHidden: true, staysRunning: true },
  { ...probePlugins, isHidden: true, staysRunning: true },
]
