// Shows the progress of long work: a bar in a terminal, lines elsewhere, or JSON lines.
import { SingleBar } from 'cli-progress'
import { printJson } from './inspect/output.ts'

/** What a command does, by the name of the step in JSON. */
export type Steps<Name extends string> = Readonly<Record<Name, { title: string; unit: Unit }>>

type Unit = 'bytes' | 'files' | 'requests' | 'rows'

export interface Progress<Name extends string> {
  step: Name
  /** In the unit of the step. */
  done: number
  total: number
}

export interface ProgressView<Name extends string> {
  report(progress: Progress<Name>): void
  /** Writes to standard output without breaking the bar. */
  print(text: string): void
  end(): void
}

export const formatCount = (count: number): string => count.toLocaleString('en')

export const formatMegabytes = (bytes: number): string => formatTotal('bytes', bytes)

interface ViewOptions {
  json?: boolean | undefined
}

export function createProgressView<Name extends string>(
  steps: Steps<Name>,
  { json = false }: ViewOptions = {},
): ProgressView<Name> {
  if (json) return createJsonLines()
  return process.stderr.isTTY ? createBars(steps) : createLines(steps)
}

const print = (text: string): void => void process.stdout.write(text)

/** One line for each percent of a step. */
function createJsonLines<Name extends string>(): ProgressView<Name> {
  let shown = ''
  return {
    report: (progress) => {
      const { step, done, total } = progress
      const percent = `${step} ${Math.floor((100 * done) / total)}`
      if (percent !== shown) printJson({ type: 'progress', ...progress })
      shown = percent
    },
    print,
    end() {},
  }
}

const formatAmount = (unit: Unit, amount: number): string =>
  unit === 'bytes' ? (amount / 1e6).toFixed(1) : formatCount(amount)

function formatTotal(unit: Unit, total: number): string {
  const word = unit === 'bytes' ? 'MB' : total === 1 ? unit.slice(0, -1) : unit
  return `${formatAmount(unit, total)} ${word}`
}

/** How often a line of a step may follow another. */
const lineIntervalMs = 5000

/** Standard output is for the result. */
function createLines<Name extends string>(steps: Steps<Name>): ProgressView<Name> {
  let current: Name | undefined
  let shownAt = 0
  return {
    report: ({ step, done, total }) => {
      const isNew = step !== current
      if (!isNew && performance.now() < shownAt + lineIntervalMs) return
      const { title, unit } = steps[step]
      process.stderr.write(`${title} (${isNew ? '' : `${formatAmount(unit, done)} of `}${formatTotal(unit, total)})\n`)
      current = step
      shownAt = performance.now()
    },
    print,
    end() {},
  }
}

/** One bar, which each step starts again, and which disappears at the end. Ctrl-C needs to restore nothing. */
function createBars<Name extends string>(steps: Steps<Name>): ProgressView<Name> {
  const bar = new SingleBar({
    format: '{bar} {title}: {amount}',
    barsize: 30,
    clearOnComplete: true,
    linewrap: true,
    gracefulExit: false,
  })
  let current: Progress<Name> | undefined
  const describe = ({ step, done, total }: Progress<Name>) => {
    const { title, unit } = steps[step]
    return { title, amount: `${formatAmount(unit, done)} of ${formatTotal(unit, total)}` }
  }
  const show = (progress: Progress<Name>): void => bar.start(progress.total, progress.done, describe(progress))
  return {
    report: (progress) => {
      if (current?.step === progress.step) bar.update(progress.done, describe(progress))
      else {
        bar.stop()
        show(progress)
      }
      current = progress
    },
    print: (text) => {
      bar.stop()
      print(text)
      if (current) show(current)
    },
    end: () => bar.stop(),
  }
}
