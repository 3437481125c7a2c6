// Questions in the terminal. Ctrl-C ends the command at any of them.
import { type CANCEL_SYMBOL, isCancel, select } from '@clack/prompts'
import { escapeInLine } from '../kit/escape-for-terminal.ts'
import type { Choice } from '../plugin/command.ts'
import { CommandError, exitCodes } from '../plugin/errors.ts'

export const endedByUser = (): CommandError => new CommandError('Nothing was written.', exitCodes.interrupted)

/** The answer to a question. @throws {CommandError} if there is none. */
export async function answerOf<Value>(question: Promise<Value | typeof CANCEL_SYMBOL>): Promise<Value> {
  const answer = await question
  if (isCancel(answer)) throw endedByUser()
  return answer
}

/** Labels may come from outside. */
export async function choose<Value>(message: string, choices: readonly Choice<Value>[]): Promise<Value> {
  const options = choices.map(({ label, hint }, index) => ({
    value: index,
    label: escapeInLine(label),
    ...(hint !== undefined && { hint: escapeInLine(hint) }),
  }))
  const index = await answerOf<number>(select({ message, options, maxItems: 12 }))
  return (choices[index] as Choice<Value>).value
}
