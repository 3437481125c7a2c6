// Replays the requests that a filter selects: a dry run of all, then one after the other, oldest first, until Ctrl-C.
import { setTimeout as delay } from 'node:timers/promises'
import { CommandError, exitCodes } from '../../plugin/errors.ts'
import type { Control } from '../control-client.ts'
import { createProgressView, type ProgressView } from '../progress.ts'
import { type Filter, type RequestLine, lineHead, listRequests } from '../requests/request-list.ts'
import { describePlan, describeReplay, type ReplayAnswer } from './replay-text.ts'

export interface ManyOptions extends Filter {
  dryRun?: boolean
  mapping?: string
  yes?: boolean
  again?: boolean
  limit: number
  rate: number
  json?: boolean
}

const steps = {
  check: { title: 'Dry run', unit: 'requests' },
  replay: { title: 'Replaying', unit: 'requests' },
} as const

type View = Pick<ProgressView<keyof typeof steps>, 'report' | 'print' | 'end'>

/** A bar in a terminal. Elsewhere, the lines of the requests are enough. */
const createView = (): View =>
  process.stderr.isTTY
    ? createProgressView(steps)
    : { report() {}, print: (text) => void process.stdout.write(text), end() {} }

export async function replayMany(control: Control, options: ManyOptions): Promise<void> {
  const stop = stopOnInterrupt()
  try {
    const selected = await selectRequests(control, options)
    if (selected.length === 0) return
    const dry = await replayEach(selected, { control, options, stop, dryRun: true })
    const rejected = dry.seen - dry.done.length
    if (!options.yes || stop.aborted()) {
      printNotice(
        `Nothing was started: ${dry.done.length} of ${selected.length} would be ` +
          `replayed${stop.aborted() ? ' (interrupted)' : '. Add --yes to replay them'}.`,
      )
      return setExitCode(stop, rejected)
    }
    const real = await replayEach(dry.done, { control, options, stop, dryRun: false })
    const rest = stop.aborted() ? '; run the same command again to continue' : ''
    printNotice(`${real.done.length} of ${selected.length} were replayed${rest}.`)
    setExitCode(stop, selected.length - real.done.length)
  } finally {
    stop.uninstall()
  }
}

export const replayRequest = async (control: Control, id: string, request: object): Promise<ReplayAnswer> =>
  (await control.post(`/api/requests/${encodeURIComponent(id)}/replay`, request)) as ReplayAnswer

const printNotice = (sentence: string): boolean => process.stderr.write(`${sentence}\n`)

function setExitCode(stop: Stop, failures: number): void {
  if (stop.aborted()) process.exitCode = exitCodes.interrupted
  else if (failures > 0) process.exitCode = 1
}

/** The matching requests, oldest first, without duplicates, handshakes, replays and requests that were replayed. */
async function selectRequests(control: Control, options: ManyOptions): Promise<RequestLine[]> {
  const { limit, again, hook, status } = options
  const matching: RequestLine[] = []
  for await (const line of listRequests(control, options)) {
    if (
      line.replayOf !== undefined ||
      line.reason === 'handshake' ||
      (line.status === 'duplicate' && status !== 'duplicate')
    )
      continue
    if (matching.length === limit)
      throw new CommandError(`More than ${limit} requests match; narrow the filter, or raise --limit.`)
    matching.push(line)
  }
  const oldest = matching.at(-1)
  if (!oldest) throw new CommandError('No request matches.')
  const replayed = again ? new Set<string>() : await replayedSince(control, { hook, since: oldest.at })
  const remaining = matching.filter(({ id }) => !replayed.has(id)).toReversed()
  if (remaining.length < matching.length)
    printNotice(
      `${matching.length - remaining.length} of ${matching.length} were already replayed; --again includes them.`,
    )
  return remaining
}

/** The ids of requests that were replayed. */
async function replayedSince(
  control: Control,
  { hook, since }: { hook: string | undefined; since: string },
): Promise<Set<string>> {
  const replayed = new Set<string>()
  for await (const { replayOf, status } of listRequests(control, { ...(hook !== undefined && { hook }), since })) {
    if (replayOf !== undefined && (status === 'accepted' || status === 'skipped')) replayed.add(replayOf)
  }
  return replayed
}

interface Pass {
  control: Control
  options: ManyOptions
  stop: Stop
  dryRun: boolean
}

/** Replays one request after the other. Rejected ones are printed; if the gateway no longer answers, it throws. */
async function replayEach(
  lines: readonly RequestLine[],
  { control, options, stop, dryRun }: Pass,
): Promise<{ seen: number; done: RequestLine[] }> {
  const done: RequestLine[] = []
  const view = createView()
  let seen = 0
  try {
    for (const line of lines) {
      view.report({ step: dryRun ? 'check' : 'replay', done: seen, total: lines.length })
      if (seen > 0) await stop.pause(1000 / options.rate)
      if (stop.aborted()) break
      seen++
      const { text, isDone } = await replayOne(line, { control, options, dryRun })
      if (isDone) done.push(line)
      view.print(text)
    }
  } finally {
    view.end()
  }
  return { seen, done }
}

/** @returns the line to print */
async function replayOne(
  line: RequestLine,
  { control, options: { json, mapping }, dryRun }: Omit<Pass, 'stop'>,
): Promise<{ text: string; isDone: boolean }> {
  try {
    const answer = await replayRequest(control, line.id, { dryRun, mapping })
    const what = json ? answer : dryRun ? describePlan(answer) : describeReplay(answer)
    return { text: format(line, what), isDone: true }
  } catch (error) {
    if (!(error instanceof CommandError && error.response)) throw error
    const what = json ? { ok: false, error: error.response } : `rejected: ${error.message}`
    return { text: format(line, what), isDone: false }
  }
}

const format = (line: RequestLine, what: object | string): string =>
  typeof what === 'string' ? `${lineHead(line)}  ${what}\n` : `${JSON.stringify({ request: line.id, ...what })}\n`

interface Stop {
  aborted(): boolean
  /** Resolves early on Ctrl-C. */
  pause(ms: number): Promise<void>
  uninstall(): void
}

/** Ctrl-C stops between two requests; a second one exits at once. */
function stopOnInterrupt(): Stop {
  const controller = new AbortController()
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(exitCodes.interrupted)
    controller.abort()
  }
  process.on('SIGINT', onSignal)
  return {
    aborted: () => controller.signal.aborted,
    pause: (ms) => delay(ms, undefined, { signal: controller.signal }).catch(() => undefined),
    uninstall: () => void process.off('SIGINT', onSignal),
  }
}
