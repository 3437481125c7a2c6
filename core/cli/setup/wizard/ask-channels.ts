// Asks which channels to connect, and for each its settings, who may write, and the recipient; then connects it once.
import { log, multiselect } from '@clack/prompts'
import { channelName } from '../../../config/channels/names.ts'
import type { Channel } from '../../../plugin/plugin.ts'
import { Type } from '../../../typebox.ts'
import { CommandError } from '../../../plugin/errors.ts'
import { escapeInLine } from '../../../kit/escape-for-terminal.ts'
import { describeChannel } from '../attempts.ts'
import type { Changes, WizardContext } from '../context.ts'
import { createDraft } from '../draft.ts'
import { type ChannelResult, tryChannel } from '../try-channel.ts'
import { requiredSettings, variableOf } from '../variables.ts'
import { answerOf, choose } from '../../prompts.ts'
import { askSetting, askText } from './ask.ts'

interface ChannelAnswers {
  changes: Changes
  results: ChannelResult[]
}

/** `given`: the sections that the options name. If there are any, only their missing settings are asked for. */
export async function askChannels(
  given: Readonly<Record<string, Changes>> | undefined,
  context: WizardContext,
): Promise<ChannelAnswers> {
  const { channels } = context.extensions
  const names = given ? Object.keys(given) : await chooseChannels(channels)
  const sections: Record<string, unknown> = {}
  const results: ChannelResult[] = []
  for (const name of names) {
    const channel = channels.get(channelName(channels, name))
    const answer = channel && (await askChannel(channel, given?.[name] ?? {}, context))
    if (answer === undefined) continue
    sections[name] = answer.section
    if (answer.result) results.push(answer.result)
  }
  return { changes: names.length > 0 ? { channels: sections } : {}, results }
}

async function chooseChannels(channels: ReadonlyMap<string, Channel>): Promise<string[]> {
  // The first configuration has the console already.
  const offered = [...channels.values()].filter(({ name }) => name !== 'console')
  return await answerOf<string[]>(
    multiselect({
      message: 'Which channels should be connected? None is fine: the console prints the replies.',
      options: offered.map(({ name, description }) => ({ value: name, hint: escapeInLine(description) })),
      required: false,
    }),
  )
}

interface ChannelAnswer {
  section: Changes
  result?: ChannelResult
}

/** Returns undefined if the channel is left out after all. */
async function askChannel(
  channel: Channel,
  given: Changes,
  context: WizardContext,
): Promise<ChannelAnswer | undefined> {
  let known = given
  for (;;) {
    const settings = { ...known, ...(await askSettings(channel, known, context)) }
    const section = { ...settings, ...(hasAccess(known) ? {} : await askAccess(channel)) }
    const outcome = await connect(channel.name, section, context)
    const next = outcome.isFine ? 'keep' : await askWhatNext(outcome.isValid)
    if (next === 'leave') return undefined
    if (next === 'keep') return { section, ...(outcome.result && { result: outcome.result }) }
    known = withoutRequired(channel, given)
  }
}

const withoutRequired = (channel: Channel, given: Changes): Changes => {
  const required = new Set(requiredSettings(channel).map(({ key }) => key))
  return Object.fromEntries(Object.entries(given).filter(([key]) => !required.has(key)))
}

const hasAccess = ({ allowFrom, dmPolicy, defaultTo }: Changes): boolean =>
  [allowFrom, dmPolicy, defaultTo].some((value) => value !== undefined)

async function askSettings(channel: Channel, known: Changes, { env }: WizardContext): Promise<Changes> {
  const answers: Record<string, string> = {}
  for (const setting of requiredSettings(channel).filter(({ key }) => known[key] === undefined))
    answers[setting.key] = await askSetting(setting, {
      name: channel.name,
      variable: variableOf(channel.name, setting.key),
      env,
    })
  return answers
}

async function askAccess({ name, target }: Channel): Promise<Changes> {
  const access = await choose<() => Promise<Changes>>(`${name}: Who may write to the agent?`, [
    { value: () => askSenders(name), label: 'The senders that I name', hint: 'by their ids' },
    {
      value: async () => ({ dmPolicy: 'pairing' }),
      label: 'Whoever I approve',
      hint: 'an unknown sender gets a code, which you approve with "pairing approve"',
    },
    { value: async () => ({}), label: 'Nobody', hint: 'the agent only sends messages' },
    {
      value: async () => ({ allowFrom: ['*'] }),
      label: 'Everybody who finds the account',
      hint: 'strangers get sessions of their own',
    },
  ])
  const { description = '' } = target as { description?: string }
  const allowed = await access()
  const defaultTo = await askText({
    message: `${name}: The default recipient; blank: none. ${description}`,
    schema: target,
    name: 'The recipient',
    isOptional: true,
  })
  return { ...allowed, ...(defaultTo && { defaultTo }) }
}

async function askSenders(name: string): Promise<Changes> {
  const senders = await askText({
    message: `${name}: The ids of the senders, with commas between them`,
    schema: Type.String({ pattern: '[^\\s,]' }),
    name: 'The list',
  })
  return { allowFrom: senders.split(',').flatMap((sender) => sender.trim() || []) }
}

interface ConnectOutcome {
  isFine: boolean
  /** False: the settings cannot be kept. */
  isValid: boolean
  result?: ChannelResult
}

async function connect(name: string, section: Changes, context: WizardContext): Promise<ConnectOutcome> {
  try {
    const { config } = await createDraft({ ...context.given, channels: { [name]: section } }, context)
    const settings = config.channels[name]
    if (!context.test || !settings) return { isFine: true, isValid: true }
    log.step(`Connecting ${name}`)
    const result = await tryChannel(name, settings, context.extensions)
    const isFine = result.state !== 'failed'
    log[isFine ? (result.state === 'later' ? 'warn' : 'success') : 'error'](describeChannel(result))
    return { isFine, isValid: true, result }
  } catch (error) {
    if (!(error instanceof CommandError)) throw error
    log.error(error.message)
    return { isFine: false, isValid: false }
  }
}

const askWhatNext = (isValid: boolean): Promise<'again' | 'keep' | 'leave'> =>
  choose('What next?', [
    { value: 'again', label: 'Enter the settings again' },
    ...(isValid ? [{ value: 'keep' as const, label: 'Keep them nevertheless' }] : []),
    { value: 'leave', label: 'Leave the channel out' },
  ])
