// The questions of `setup` in a terminal, in their order, and the summary before the file is written.
import { confirm, intro, note, outro, text } from '@clack/prompts'
import { fillDefaults } from '../../../config/defaults.ts'
import { type GatewayConfig, GatewaySection } from '../../../config/schema/gateway.ts'
import { escapeInLine } from '../../../kit/escape-for-terminal.ts'
import { exitCodes } from '../../../plugin/errors.ts'
import { firstProblem, listProblems } from '../../../typebox.ts'
import { onInterrupt } from '../../interrupt.ts'
import { answerOf, choose, endedByUser } from '../../prompts.ts'
import type { Attempts } from '../attempts.ts'
import type { Changes, SetupContext } from '../context.ts'
import { createDraft, type Draft, mergeChanges } from '../draft.ts'
import { hasAnswer } from '../option-answers.ts'
import type { Outcome } from '../report.ts'
import { askChannels } from './ask-channels.ts'
import { askModel } from './ask-model.ts'
import { askPresets } from './ask-presets.ts'
import { askText } from './ask.ts'

/** Asks for what the answers of the options do not contain. */
export async function runWizard(answers: Changes, setupContext: SetupContext): Promise<Outcome> {
  // While no question is open, Ctrl-C is a signal.
  using _ = onInterrupt(() => {
    process.stderr.write(`\n${endedByUser().message}\n`)
    process.exit(exitCodes.interrupted)
  })
  const { channels: sections, ...given } = answers as { channels?: Record<string, Changes> }
  const context = { ...setupContext, given }
  // Wrong options are reported before the first question. What a channel needs is asked for.
  await createDraft(given, context)
  intro('svc-gateway setup')
  const model = await askModel(context)
  const channels = await askChannels(sections, context)
  const presets = await askPresets(context)
  const address = hasAnswer(given, 'gateway') ? {} : await askAddress()
  const changes = [channels.changes, presets, address].reduce(mergeChanges, model.changes)
  const draft = await createDraft(changes, context)
  const attempts = { ...(model.result && { model: model.result }), channels: channels.results }
  await confirmSummary({ draft, attempts }, context)
  return { draft, attempts, isShown: true }
}

async function confirmSummary(outcome: Outcome, { file }: SetupContext): Promise<void> {
  note(describe(outcome).join('\n'), 'The configuration')
  if (!(await answerOf(confirm({ message: `Write ${file}?` })))) throw endedByUser()
  outro(`Writing ${file}`)
}

/** Without secrets. */
function describe({ draft: { config }, attempts }: Outcome): string[] {
  const { gateway, hooks, agents } = config
  const channels = Object.entries(config.channels).map(([name, section]) => {
    const state = attempts.channels.find((one) => one.name === name)?.state
    return `Channel   ${name}${state === undefined ? '' : `, ${stateTexts[state]}`}; ${describeAccess(section)}`
  })
  return [
    `Model     ${agents.defaults.model}${describeReply(attempts)}`,
    ...channels,
    ...(hooks.presets.length > 0 ? [`Presets   ${hooks.presets.join(', ')}`] : []),
    `Address   ${gateway.bind}:${gateway.port}`,
  ].map(escapeInLine)
}

const stateTexts = { connected: 'connected', failed: 'not connected', later: 'not tried yet' }

const describeReply = ({ model }: Attempts): string =>
  model === undefined ? '' : 'reply' in model ? ', which replies' : ', which did not reply'

function describeAccess({ allowFrom = [], dmPolicy, defaultTo }: Draft['config']['channels'][string]): string {
  const senders = dmPolicy === 'pairing' ? 'whoever you approve' : allowFrom.join(', ') || 'nobody'
  const recipient = defaultTo === undefined ? '' : `; default recipient: ${defaultTo}`
  return `senders: ${senders === '*' ? 'everybody' : senders}${recipient}`
}

async function askAddress(): Promise<Changes> {
  const { bind, port } = GatewaySection.properties
  const defaults = fillDefaults(GatewaySection, {}) as GatewayConfig
  const isDefault = await choose('Where should the gateway listen?', [
    { value: true, label: `On this machine only, on port ${defaults.port}` },
    { value: false, label: 'On another address or port' },
  ])
  if (isDefault) return {}
  const address = await askText({
    message: 'The address; 0.0.0.0 opens the gateway to the network',
    initialValue: defaults.bind,
    schema: bind,
    name: 'The address',
  })
  const number = await answerOf(
    text({
      message: 'The port',
      initialValue: String(defaults.port),
      validate: (value = '') => {
        const problems = listProblems(port, /^\d+$/.test(value.trim()) ? Number(value) : value)
        return problems.length > 0 ? `${firstProblem(problems, 'The port')}.` : undefined
      },
    }),
  )
  return { gateway: { bind: address, port: Number(number) } }
}
