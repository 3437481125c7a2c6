// Replays what a filter chooses: first a dry run of all, then one after the other, the oldest first, until Ctrl-C.
import { setTimeout as delay } from 'node:timers/promises'
import { CommandError, interrupted } from './command-error.ts'
import type { Control } from './control-client.ts'
import { type Filter, type RequestLine, lineHead, listRequests } from './request-list.ts'
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

export async function replayMany(control: Control, options: ManyOptions): Promise<void> {
  const stop = stopOnInterrupt()
  try {
    const chosen = await choose(control, options)
    if (chosen.length === 0) return
    const dry = await passOver(chosen, { control, options, stop, dryRun: true })
    const refused = dry.seen - dry.done.length
    if (!options.yes || stop.aborted()) {
      say(
        `Nothing was started: ${dry.done.length} of ${chosen.length} would be replayed${stop.aborted() ? ', as far as was looked' : '; --yes does it'}.`,
      )
      return end(stop, refused)
    }
    const real = await passOver(dry.done, { control, options, stop, dryRun: false })
    const rest = stop.aborted() ? '; the same command goes on with the rest' : ''
    say(`${real.done.length} of ${chosen.length} were replayed${rest}.`)
    end(stop, chosen.length - real.done.length)
  } finally {
    stop.uninstall()
  }
}

export const replayRequest = async (control: Control, id: string, request: object): Promise<ReplayAnswer> =>
  (await control.post(`/api/requests/${encodeURIComponent(id)}/replay`, request)) as ReplayAnswer

const say = (sentence: string): boolean => process.stderr.write(`${sentence}\n`)

function end(stop: Stop, failures: number): void {
  if (stop.aborted()) process.exitCode = interrupted
  else if (failures > 0) process.exitCode = 1
}

/**
 * What came in and may be done once more, the oldest first: no doubles, no handshakes, nothing that is a replay or was
 * replayed.
 */
async function choose(control: Control, options: ManyOptions): Promise<RequestLine[]> {
  const { limit, again, hook, status } = options
  const fitting: RequestLine[] = []
  for await (const line of listRequests(control, options)) {
    if (
      line.replayOf !== undefined ||
      line.reason === 'handshake' ||
      (line.status === 'duplicate' && status !== 'duplicate')
    )
      continue
    if (fitting.length === limit)
      throw new CommandError(`More than ${limit} requests fit; narrow the filter, or raise --limit.`)
    fitting.push(line)
  }
  const oldest = fitting.at(-1)
  if (!oldest) throw new CommandError('There is no such request.')
  const replayed = again ? new Set<string>() : await replayedSince(control, { hook, since: oldest.at })
  const left = fitting.filter(({ id }) => !replayed.has(id)).toReversed()
  if (left.length < fitting.length)
    say(`${fitting.length - left.length} of ${fitting.length} were replayed already; --again takes them, too.`)
  return left
}

/** The requests that a replay has done once more. */
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

/** One after the other. What the gateway refuses is told and left; where nobody answers any more, it ends. */
async function passOver(
  lines: readonly RequestLine[],
  { control, options, stop, dryRun }: Pass,
): Promise<{ seen: number; done: RequestLine[] }> {
  const done: RequestLine[] = []
  let seen = 0
  for (const line of lines) {
    if (seen > 0) await stop.pause(1000 / options.rate)
    if (stop.aborted()) break
    seen++
    try {
      const answer = await replayRequest(control, line.id, { dryRun, mapping: options.mapping })
      done.push(line)
      print(line, options.json ? answer : dryRun ? describePlan(answer) : describeReplay(answer))
    } catch (error) {
      if (!(error instanceof CommandError && error.answered)) throw error
      print(line, options.json ? { ok: false, error: error.answered } : `refused: ${error.message}`)
    }
  }
  return { seen, done }
}

function print(line: RequestLine, what: object | string): void {
  process.stdout.write(
    typeof what === 'string' ? `${lineHead(line)}  ${what}\n` : `${JSON.stringify({ request: line.id, ...what })}\n`,
  )
}

interface Stop {
  aborted(): boolean
  /** Resolves at once when Ctrl-C comes. */
  pause(ms: number): Promise<void>
  uninstall(): void
}

/** Ctrl-C ends it between two requests, a second one at once. */
function stopOnInterrupt(): Stop {
  const controller = new AbortController()
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(interrupted)
    controller.abort()
  }
  process.on('SIGINT', onSignal)
  return {
    aborted: () => controller.signal.aborted,
    pause: (ms) => delay(ms, undefined, { signal: controller.signal }).catch(() => undefined),
    uninstall: () => void process.off('SIGINT', onSignal),
  }
}
