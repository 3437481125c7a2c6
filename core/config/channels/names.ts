// The names and aliases of channels: what a request or the configuration may call them.
import type { Channel } from '../../plugin/plugin.ts'

/** The loaded channels, by name. */
export type NamedChannels = ReadonlyMap<string, Pick<Channel<never>, 'aliases'>>

/** The name of the channel that is called this way. An unknown name is returned as it is, without spaces around it. */
export function channelName(channels: NamedChannels, called: string): string {
  const name = called.trim()
  if (channels.has(name)) return name
  for (const [known, { aliases = [] }] of channels) if (aliases.includes(name)) return known
  return name
}

/** All names and aliases. */
export const listChannelNames = (channels: NamedChannels): string[] =>
  Array.from(channels, ([name, { aliases = [] }]) => [name, ...aliases]).flat()
