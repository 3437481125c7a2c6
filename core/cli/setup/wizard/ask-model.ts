// Asks for the model and sends it a message, until it replies or the person keeps it.
import { log } from '@clack/prompts'
import { canTry, describeModel } from '../attempts.ts'
import type { Changes } from '../context.ts'
import { hasAnswer } from '../option-answers.ts'
import { createDraft, mergeChanges } from '../draft.ts'
import { type ModelResult, tryModel } from '../try-model.ts'
import { chooseModel } from './choose-model.ts'
import { choose } from '../../prompts.ts'
import type { WizardContext } from './wizard-context.ts'

interface ModelAnswer {
  changes: Changes
  result?: ModelResult
}

/** Asks for no model if the options name one. The changes include those of the options. */
export async function askModel(context: WizardContext): Promise<ModelAnswer> {
  const { given, test } = context
  let changes = hasAnswer(given, 'agents', 'defaults', 'model')
    ? given
    : mergeChanges(given, await chooseModel(context))
  for (;;) {
    const result = test ? await sendMessage(changes, context) : undefined
    if (result === undefined) return { changes }
    if ('reply' in result) log.success(describeModel(result))
    else log.error(describeModel(result))
    const next = 'reply' in result ? 'keep' : await askWhatNext()
    if (next === 'keep') return { changes, result }
    if (next === 'other') changes = mergeChanges(given, await chooseModel(context))
  }
}

async function sendMessage(changes: Changes, context: WizardContext): Promise<ModelResult | undefined> {
  const { config } = await createDraft(changes, context)
  const { model } = config.agents.defaults
  if (!canTry(model)) return undefined
  log.step(`Sending a message to ${model}`)
  return await tryModel(config, context.extensions)
}

const askWhatNext = (): Promise<'other' | 'again' | 'keep'> =>
  choose('What next?', [
    { value: 'other', label: 'Choose another model' },
    { value: 'again', label: 'Try again' },
    { value: 'keep', label: 'Keep it nevertheless' },
  ])
