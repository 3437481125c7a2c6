// Tries what the answers configure: one message to the model, and one connection of each channel.
import { builtinModel } from './model-sources.ts'
import { channelName } from '../../config/channels/names.ts'
import { isRecord } from '../../config/walk.ts'
import { CommandError } from '../../plugin/errors.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import type { Changes, SetupContext } from './context.ts'
import type { Draft } from './draft.ts'
import { type ChannelResult, tryChannel } from './try-channel.ts'
import { firstWords, type ModelResult, tryModel } from './try-model.ts'

export interface Attempts {
  /** Absent: it was not tried. */
  model?: ModelResult
  channels: ChannelResult[]
}

/** @throws {CommandError} if one fails. */
export async function tryAll(changes: Changes, draft: Draft, { extensions }: SetupContext): Promise<Attempts> {
  const { config } = draft
  const model = canTry(config.agents.defaults.model) ? await tryModel(config, extensions) : undefined
  if (model && 'problem' in model) throw failed(describeModel(model))
  const channels: ChannelResult[] = []
  for (const called of namedChannels(changes)) {
    const name = channelName(extensions.channels, called)
    const section = config.channels[name]
    if (!section?.enabled) continue
    const result = await tryChannel(name, section, extensions)
    if (result.state === 'failed') throw failed(describeChannel(result))
    channels.push(result)
  }
  return { ...(model && { model }), channels }
}

/** The built-in model always answers. */
export const canTry = (model: string): boolean => model !== builtinModel

const namedChannels = ({ channels }: Changes): string[] => (isRecord(channels) ? Object.keys(channels) : [])

const failed = (sentence: string): CommandError =>
  new CommandError(`${sentence} Nothing was written; fix this, or add --no-test to write the file nevertheless.`)

export function describeModel(result: ModelResult): string {
  const { model, ms } = result
  return 'reply' in result
    ? `${model} replied in ${(ms / 1000).toFixed(1)} s: ${escapeInLine(firstWords(result.reply))}`
    : `${model} did not reply. ${escapeInLine(result.problem)}`
}

export function describeChannel({ name, state, reason }: ChannelResult): string {
  const problem = reason === undefined ? '' : escapeInLine(reason)
  if (state === 'connected') return `${name} connected.`
  return state === 'later' ? `${name} was not tried. ${problem}` : `${name} did not connect. ${problem}`
}
