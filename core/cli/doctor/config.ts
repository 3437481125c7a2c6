// Checks the configuration as `check` does, and what is legal but has no effect: hooks that are off, closed channels.
import { admitsAnybody, listAccess } from '../../config/channels/access.ts'
import { channelName } from '../../config/channels/names.ts'
import type { ConfigProblem, ProblemCode } from '../../config/config-error.ts'
import { commandLine } from '../../config/file/locate.ts'
import type { ChannelConfig, Config } from '../../config/schema/schema.ts'
import type { Extensions } from '../../loader/registry.ts'
import { isExposed } from './exposure.ts'
import { type Finding, type Outcome, splitFix } from './finding.ts'
import { type Subject, withConfig } from './subject.ts'

export function checkConfig(subject: Subject): Outcome {
  const { file, isMissing, errors, warnings } = subject
  if (isMissing) return [missingConfig(file)]
  return [
    ...errors.map((problem) => toFinding(problem, { subject, severity: 'error' })),
    ...warnings.map((problem) => toFinding(problem, { subject, severity: severityOf(problem, subject) })),
  ]
}

export const checkPlugins = ({ pluginProblems, pluginWarnings }: Subject): Outcome => [
  ...pluginProblems.map(pluginFinding('plugin_refused', 'error')),
  ...pluginWarnings.map(pluginFinding('plugin_faulty', 'warning')),
]

/** The title of the check, which says which versions are installed. */
export const namePlugins = ({ plugins }: Subject): string =>
  plugins.length === 0 ? 'The plugins can be loaded.' : `The plugins can be loaded: ${plugins.join(', ')}.`

const missingConfig = (file: string): Finding => ({
  id: 'config_missing',
  severity: 'error',
  where: file,
  problem: `There is no configuration at ${file}.`,
  fix: `Create one with: ${commandLine(`setup --config ${file}`)}`,
})

const pluginFinding =
  (id: 'plugin_refused' | 'plugin_faulty', severity: Finding['severity']) =>
  (problem: string): Finding => ({
    id,
    severity,
    where: 'plugins',
    ...splitFix(problem.replace(/\.$/, ''), 'Correct the plugin, or remove it from plugins.'),
  })

/** The gateway starts, but something of it cannot work. */
const failures: ReadonlySet<ProblemCode> = new Set(['package_missing', 'transform_broken'])
const weaknesses: ReadonlySet<ProblemCode> = new Set(['token_short'])

function severityOf({ code }: ConfigProblem, { ready }: Subject): Finding['severity'] {
  if (code === undefined) return 'warning'
  if (failures.has(code)) return 'error'
  return weaknesses.has(code) && ready && isExposed(ready.resolved.config.gateway) ? 'error' : 'warning'
}

function toFinding(
  { path, id, line, code, problem }: ConfigProblem,
  { subject: { file }, severity }: { subject: Subject; severity: Finding['severity'] },
): Finding {
  const where = path || file
  const name = id === undefined ? '' : ` (${JSON.stringify(id)})`
  return {
    id: code ?? (severity === 'error' ? 'config_invalid' : 'config_warning'),
    severity,
    where,
    ...(line !== undefined && { line }),
    ...explain(`${where}${name} ${problem}`, { fallback: `Correct ${path || 'it'} in ${file}.`, code }),
  }
}

/** Fixes of problems whose text does not end with one. */
const fixes: Partial<Record<ProblemCode, string>> = {
  secret_file_missing: 'Create the file, let the user of the gateway read it, or correct its path.',
  transform_broken: `Correct the file, and try it with: ${commandLine('transform test <module> --payload <file>')}`,
}

function explain(
  text: string,
  { fallback, code }: { fallback: string; code: ProblemCode | undefined },
): Pick<Finding, 'problem' | 'fix'> {
  const fix = code && fixes[code]
  return fix === undefined ? splitFix(text, fallback) : { problem: `${text.replace(/\.$/, '')}.`, fix }
}

export const checkHooks = withConfig(({ resolved }) => {
  const { enabled, mappings, presets } = resolved.config.hooks
  const number = mappings.length + presets.length
  if (enabled || number === 0) return []
  return [
    {
      id: 'hooks_disabled',
      severity: 'warning',
      where: 'hooks.enabled',
      problem: `Mappings or presets are configured (${number}), but hooks.enabled is false: their requests get 404.`,
      fix: 'Set hooks.enabled to true, and hooks.token to a random token.',
    },
  ]
})

export const checkChannels = withConfig(({ resolved: { config }, extensions }) =>
  Object.entries(config.channels)
    .filter(([name, section]) => section.enabled && isClosed(section) && !isOutgoing(name, { config, extensions }))
    .map(([name]) => closedChannel(name)),
)

const isClosed = (section: ChannelConfig): boolean => !listAccess(section).some(admitsAnybody)

/** Whether replies, alerts or the messages of heartbeats are sent there. */
function isOutgoing(
  name: string,
  { config, extensions }: { config: Config; extensions: Pick<Extensions, 'channels'> },
): boolean {
  const { defaultTo, accounts = {} } = config.channels[name] as ChannelConfig
  if ([defaultTo, ...Object.values(accounts).map((one) => one.defaultTo)].some((to) => to !== undefined)) return true
  const { hooks, agents } = config
  const sections = Object.values(hooks as object).filter((value) => typeof value === 'object')
  const routes = [...hooks.mappings, ...sections] as { channel?: unknown; to?: unknown }[]
  const heartbeats = Object.values(agents).map(({ heartbeat }) => ({ channel: heartbeat?.target, to: heartbeat?.to }))
  return [...routes, ...heartbeats].some(
    ({ channel, to }) =>
      typeof channel === 'string' && to !== undefined && channelName(extensions.channels, channel) === name,
  )
}

const closedChannel = (name: string): Finding => ({
  id: 'channel_closed',
  severity: 'warning',
  where: `channels.${name}.allowFrom`,
  problem: `Nobody may write to the agents on channels.${name}, and nothing is sent there.`,
  fix:
    `Set channels.${name}.allowFrom to the ids of the senders, or dmPolicy to "pairing"; or set defaultTo if the ` +
    'channel is for replies only.',
})
