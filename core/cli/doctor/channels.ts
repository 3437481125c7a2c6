// Checks that somebody may write to the agents on each channel, unless it is used for replies only.
import { listAccess } from '../../config/channels/access.ts'
import { channelName } from '../../config/channels/names.ts'
import type { ChannelConfig, Config } from '../../config/schema/schema.ts'
import type { Extensions } from '../../loader/registry.ts'
import type { Finding } from './finding.ts'
import { withConfig } from './subject.ts'

export const checkChannels = withConfig(({ resolved: { config }, extensions }) =>
  Object.entries(config.channels)
    .filter(([name, section]) => section.enabled && isClosed(section) && !isOutgoing(name, { config, extensions }))
    .map(([name]) => closedChannel(name)),
)

const isClosed = (section: ChannelConfig): boolean =>
  listAccess(section).every(({ allowFrom, dmPolicy }) => allowFrom.length === 0 && dmPolicy === 'allowlist')

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
