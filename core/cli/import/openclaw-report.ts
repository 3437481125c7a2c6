// What `import openclaw` prints: the new file, what was not carried over, and the problems that `check` finds.
import { commandLine } from '../../config/file/locate.ts'
import { check, type Problem, reportProblems } from '../check.ts'
import { printJson } from '../inspect/output.ts'
import { quoteWord } from '../quote-word.ts'

/** A setting of the source that the new file does not have. */
export interface LeftSetting {
  /** Dotted path of its key. */
  path: string
  reason: string
}

interface Import {
  file: string
  notCarriedOver: readonly LeftSetting[]
}

export async function printImport({ file, notCarriedOver }: Import, json: boolean): Promise<void> {
  const start = commandLine(`start --config ${quoteWord(file)}`)
  if (json) {
    const problems: Problem[] = []
    await reportProblems({ config: file }, (problem) => problems.push(problem))
    return printJson({ file, notCarriedOver, problems, start })
  }
  const count = notCarriedOver.length
  const lines = [
    `Wrote ${file}. Only you can read it. ${count === 1 ? '1 setting was' : `${count} settings were`} not carried ` +
      `over${count > 0 ? ':' : '.'}`,
    ...notCarriedOver.map(({ path, reason }) => `  ${`${path}: ${reason}`.replaceAll(/\p{Cc}/gu, ' ')}`),
    `Start with: ${start}`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  await check({ config: file })
}
