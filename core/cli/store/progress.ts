// Shows the progress of a copy: a bar in a terminal, a line for each tenth elsewhere, or JSON lines.
import { progress as createBar } from '@clack/prompts'
import type { CopyProgress } from '../../store/copy/copy-store.ts'

export interface ProgressView {
  report(progress: CopyProgress): void
  /** Ends the view. `isDone` is false after an error. */
  end(isDone: boolean): void
}

export function createProgressView({ json = false }: { json?: boolean | undefined }): ProgressView {
  if (json) return jsonLines
  return process.stderr.isTTY ? createBars() : createLines()
}

const titles = { copy: 'Copying', compare: 'Comparing' } as const

const describe = ({ step, done, total }: CopyProgress): string =>
  `${titles[step]}: ${formatCount(done)} of ${formatCount(total)} rows`

export const formatCount = (count: number): string => count.toLocaleString('en')

const jsonLines: ProgressView = {
  report: (progress) => void process.stdout.write(`${JSON.stringify({ type: 'progress', ...progress })}\n`),
  end() {},
}

/** Standard output is for the result. */
function createLines(): ProgressView {
  let shown = ''
  return {
    report: (progress) => {
      const tenth = progress.total === 0 ? 10 : Math.floor((10 * progress.done) / progress.total)
      const next = `${progress.step} ${tenth}`
      if (next !== shown) process.stderr.write(`${describe(progress)}\n`)
      shown = next
    },
    end() {},
  }
}

/** One bar for each step. */
function createBars(): ProgressView {
  let current: { step: CopyProgress['step']; bar: ReturnType<typeof createBar>; done: number; text: string } | undefined
  return {
    report: (progress) => {
      const { step, done, total } = progress
      if (current?.step !== step) {
        current?.bar.stop(current.text)
        const bar = createBar({ max: total, output: process.stderr, withGuide: false })
        bar.start(describe(progress))
        current = { step, bar, done: 0, text: '' }
      }
      current.text = describe(progress)
      current.bar.advance(done - current.done, current.text)
      current.done = done
    },
    end: (isDone) => {
      if (isDone) current?.bar.stop(current.text)
      else current?.bar.error(current.text)
    },
  }
}
