// Shows the progress of long work: a bar in a terminal, lines elsewhere, or JSON lines.
import { SingleBar } from 'cli-progress'
import type { ProgressOptions, ProgressSteps, ProgressView } from '../plugin/command.ts'
import { print, printJson } from './terminal.ts'

type Report<Step extends string> = ProgressView<Step>['report']
type Progress<Step extends string> = Parameters<Report<Step>>[0]
type Unit = ProgressSteps<string>[string]['unit']

export function createProgressView<Step extends string>(
  steps: ProgressSteps<Step>,
  { json = false, onlyInTerminal = false }: ProgressOptions = {},
): ProgressView<Step> {
  if (!json && process.stderr.isTTY) return createBar(steps)
  const report = json ? createJsonReport() : createLineReport(steps)
  return { report: onlyInTerminal ? () => {} : report, print, end() {} }
}

export const formatCount = (count: number): string => count.toLocaleString('en')

export const formatMegabytes = (bytes: number): string => formatTotal('bytes', bytes)

const formatAmount = (unit: Unit, amount: number): string =>
  unit === 'bytes' ? (amount / 1e6).toFixed(1) : formatCount(amount)

function formatTotal(unit: Unit, total: number): string {
  const word = unit === 'bytes' ? 'MB' : total === 1 ? unit.slice(0, -1) : unit
  return `${formatAmount(unit, total)} ${word}`
}

/** One line for each percent of a step. */
function createJsonReport(): Report<string> {
  let shown = ''
  return (progress) => {
    const { step, done, total } = progress
    const percent = `${step} ${Math.floor((100 * done) / total)}`
    if (percent !== shown) printJson({ type: 'progress', ...progress })
    shown = percent
  }
}

/** How often a line of a step may follow another. */
const lineIntervalMs = 5000

/** Standard output is for the result. */
function createLineReport<Step extends string>(steps: ProgressSteps<Step>): Report<Step> {
  let current: Step | undefined
  let shownAt = 0
  return ({ step, done, total }) => {
    const isNew = step !== current
    if (!isNew && performance.now() < shownAt + lineIntervalMs) return
    const { title, unit } = steps[step]
    process.stderr.write(`${title} (${isNew ? '' : `${formatAmount(unit, done)} of `}${formatTotal(unit, total)})\n`)
    current = step
    shownAt = performance.now()
  }
}

/** One bar, which each step starts again, and which disappears at the end. Ctrl-C needs to restore nothing. */
function createBar<Step extends string>(steps: ProgressSteps<Step>): ProgressView<Step> {
  const bar = new SingleBar({
    format: '{bar} {title}: {amount}',
    barsize: 30,
    clearOnComplete: true,
    linewrap: true,
    gracefulExit: false,
  })
  let current: Progress<Step> | undefined
  const describe = ({ step, done, total }: Progress<Step>) => {
    const { title, unit } = steps[step]
    return { title, amount: `${formatAmount(unit, done)} of ${formatTotal(unit, total)}` }
  }
  const show = (progress: Progress<Step>): void => bar.start(progress.total, progress.done, describe(progress))
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
