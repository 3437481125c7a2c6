// Problems of the configuration as sentences.
import type { Reply } from '../api/client.ts'

export type Problem = Reply<'POST /api/config/check'>['problems'][number]

/** A problem as a sentence about its key. */
export function Sentence({ of: { path, problem } }: { of: Problem }) {
  const { subject, rest } = split({ path, problem })
  return (
    <>
      {path === '' ? subject : <code>{subject}</code>} {rest}
    </>
  )
}

export function sentenceOf(problem: Problem): string {
  const { subject, rest } = split(problem)
  return `${subject} ${rest}`
}

/** A problem of the syntax begins with its column, which is shown by its place. */
function split({ path, problem }: Problem): { subject: string; rest: string } {
  const [, syntax] = /^column \d+: (.*)$/s.exec(problem) ?? []
  if (syntax !== undefined) return { subject: 'This is', rest: withStop(syntax) }
  return { subject: path === '' ? 'The file' : path, rest: withStop(problem) }
}

/** A problem may end in a question. */
const withStop = (text: string): string => (/[.?]$/.test(text) ? text : `${text}.`)
