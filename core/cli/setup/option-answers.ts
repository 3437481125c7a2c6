// The answers that the options of `setup` give.
import { channelName, listChannelNames } from '../../config/channels/names.ts'
import { suggest } from '../../config/nearest.ts'
import { isRecord } from '../../config/walk.ts'
import type { Channel } from '../../plugin/plugin.ts'
import { CommandError } from '../../plugin/errors.ts'
import type { Changes, SetupContext, SetupOptions } from './context.ts'
import { mergeChanges } from './draft.ts'
import { readModelOptions } from './model-sources.ts'
import { readSettings } from './set-option.ts'
import { channelSecrets, reference, webhookVariable } from './variables.ts'

/** Settings take precedence over what the other options imply. */
export function readOptions(options: SetupOptions, context: SetupContext): Changes {
  const others = [addressChanges(options), channelChanges(options, context), presetChanges(options, context)]
  const hasKey = (name: string): boolean => options.set.some((text) => text.startsWith(`providers.${name}.apiKey=`))
  const model = readModelOptions(options, { context, hasKey }) ?? {}
  const implied = [...others, model].reduce(mergeChanges, {})
  const changes = mergeChanges(implied, readSettings(options.set, implied, context))
  for (const name of Object.keys(changes['channels'] ?? {})) findChannel(name, '--set', context)
  return changes
}

const addressChanges = ({ port, bind }: SetupOptions): Changes => {
  const address = { ...(bind !== undefined && { bind }), ...(port !== undefined && { port }) }
  return Object.keys(address).length > 0 ? { gateway: address } : {}
}

function channelChanges({ channel }: SetupOptions, context: SetupContext): Changes {
  const sections = channel.map((called) => {
    const found = findChannel(called, '--channel', context)
    return [found.name, channelSecrets(found, context.env)]
  })
  return sections.length > 0 ? { channels: Object.fromEntries(sections) } : {}
}

function findChannel(called: string, option: string, { extensions: { channels } }: SetupContext): Channel {
  const found = channels.get(channelName(channels, called))
  if (found) return found
  const names = listChannelNames(channels)
  const fix = suggest(called, names, `use one of ${names.join(', ')}.`)
  throw new CommandError(`${option} names the channel "${called}", which does not exist; ${fix}`)
}

function presetChanges({ preset }: SetupOptions, { extensions, env }: SetupContext): Changes {
  const presets = extensions.presets
  const sections = preset.flatMap((name) => {
    const variable = webhookVariable(name)
    return presets.get(name)?.auth && env[variable] ? [[name, { auth: { secret: reference(variable) } }]] : []
  })
  return preset.length > 0 ? { hooks: { ...Object.fromEntries(sections), presets: [...new Set(preset)] } } : {}
}

/** Whether the changes contain the key. */
export const hasAnswer = (changes: Changes, ...keys: readonly string[]): boolean =>
  keys.reduce<unknown>((inside, key) => (isRecord(inside) ? inside[key] : undefined), changes) !== undefined
