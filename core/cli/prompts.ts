// Questions in the terminal. Ctrl-C ends the command at any of them.
import { createInterface } from 'node:readline'
import { type CANCEL_SYMBOL, isCancel, password, select, text } from '@clack/prompts'
import { escapeInLine } from '../kit/escape-for-terminal.ts'
import type { Choice, Terminal } from '../plugin/command.ts'
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

/** Asks for texts: in the terminal, or else on standard input, one line for each. */
export function createAsker(isInteractive: boolean): Terminal['ask'] {
  if (isInteractive)
    return async (question, { secret = false } = {}) => {
      const message = escapeInLine(question)
      const validate = (typed = ''): string | undefined => (typed.trim() === '' ? 'It needs an answer.' : undefined)
      const answer = await (secret ? password : text)({ message, validate })
      if (isCancel(answer)) throw new CommandError('Interrupted.', exitCodes.interrupted)
      return answer.trim()
    }
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]()
  return async (question) => {
    process.stderr.write(`${escapeInLine(question)}\n`)
    const line = await lines.next()
    if (line.done === true || line.value.trim() === '')
      throw new CommandError(
        'This needs an answer; run the command in a terminal, or write the answer on standard input.',
      )
    return line.value.trim()
  }
}
