// Checks a recipient against the `target` schema of its channel.
import type { Channel } from '../plugin/plugin.ts'
import { firstProblem, listProblems } from '../typebox.ts'

/** @returns the rest of a sentence that begins with the name of the field; nothing when the recipient fits. */
export function findRecipientProblem(channel: Pick<Channel, 'name' | 'target'>, to: string): string | undefined {
  const problems = listProblems(channel.target, to)
  if (problems.length === 0) return undefined
  const { description } = channel.target as { description?: unknown }
  const expected = typeof description === 'string' ? ` (${description.replace(/\.$/, '')})` : ''
  return `does not fit the channel "${channel.name}"${expected}: ${firstProblem(problems, 'it')}`
}
