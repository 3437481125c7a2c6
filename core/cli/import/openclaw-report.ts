// What `import openclaw` prints: the new file, what was not carried over, and the problems that `check` finds.
import { commandLine } from '../../config/file/locate.ts'
import { check, type Problem, reportProblems } from '../check.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { printJson } from '../inspect/output.ts'
import { quoteWord } from '../quote-word.ts'
import type { Effect } from './openclaw-effects.ts'

/** A setting of the source that the new file does not have. */
export interface LeftSetting {
  /** Dotted path of its key. */
  path: string
  reason: string
}

interface Import {
  file: string
  notCarriedOver: readonly LeftSetting[]
  effects: readonly Effect[]
}

export function printEffects(effects: readonly Effect[]): void {
  if (effects.length === 0) return
  const lines = effects.map(({ kind, path, what }) => `  ${kind} ${what} (${path})`)
  process.stdout.write(`${['The new configuration', ...lines].map(escapeInLine).join('\n')}\n`)
}

export async function printImport({ file, notCarriedOver, effects }: Import, json: boolean): Promise<void> {
  const start = commandLine(`start --config ${quoteWord(file)}`)
  if (json) {
    const problems: Problem[] = []
    await reportProblems({ config: file }, (problem) => problems.push(problem))
    return printJson({ file, notCarriedOver, effects, problems, start })
  }
  const count = notCarriedOver.length
  const lines = [
    `Wrote ${file}. Only you can read it. ${count === 1 ? '1 setting was' : `${count} settings were`} not carried ` +
      `over${count > 0 ? ':' : '.'}`,
    ...notCarriedOver.map(({ path, reason }) => `  ${escapeInLine(`${path}: ${reason}`)}`),
    `Start with: ${start}`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  await check({ config: file })
}
