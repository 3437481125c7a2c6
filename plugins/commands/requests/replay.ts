// Replays one request, or all that a filter selects: first a dry run of all, then one after the other, oldest first.
import { setTimeout as delay } from 'node:timers/promises'
import { nameOfFile, parseJson, readBytesOf } from 'svc-gateway/kit'
import { type CommandContext, CommandError, type ControlClient, isCommandError } from 'svc-gateway/plugin'
import { type Filter, isFiltered, lineHead, listRequests, type RequestLine } from './list.ts'
import { describeDryRun, describePlan, describeReplay, type ReplayAnswer } from './replay-text.ts'

interface ReplayInput extends Filter {
  requestId?: string
  dryRun?: boolean
  mapping?: string
  body?: string
  yes?: boolean
  again?: boolean
  limit: number
  rate: number
  json?: boolean
}

type Context = CommandContext<'control'>

export async function replay(input: ReplayInput, context: Context): Promise<void> {
  const { requestId, dryRun, mapping, body, json } = input
  checkInput(input)
  if (requestId === undefined) return await replayMany(input, context)
  const request = { dryRun, mapping, ...(body !== undefined && { body: readBody(body) }) }
  const answer = await replayRequest(context.control, requestId, request)
  if (json) context.terminal.printJson(answer)
  else context.terminal.print(dryRun ? describeDryRun(answer) : describeReplay(answer))
}

function checkInput({ requestId, dryRun, body, yes, ...filter }: ReplayInput): void {
  if (requestId === undefined && !isFiltered(filter))
    throw new CommandError(
      'Give a request id, or select requests with --hook, --status, --run-status, --since, --until or --text.',
    )
  if (requestId !== undefined && isFiltered(filter))
    throw new CommandError('Give either a request id or a filter, not both.')
  if (requestId === undefined && body !== undefined)
    throw new CommandError('--body is for a single request; omit it, or give a request id instead of the filter.')
  if (dryRun && yes) throw new CommandError('--dry-run and --yes exclude each other; omit one of them.')
}

const readBody = (file: string): unknown =>
  parseJson(`--body: ${nameOfFile(file)}`, readBytesOf('--body', file).toString('utf8'))

const replayRequest = (control: ControlClient, id: string, request: object): Promise<ReplayAnswer> =>
  control.post<ReplayAnswer>(`/api/requests/${encodeURIComponent(id)}/replay`, request)

async function replayMany(input: ReplayInput, context: Context): Promise<void> {
  const { terminal, signal } = context
  const selected = await selectRequests(input, context)
  if (selected.length === 0) return
  const dry = await replayEach(selected, { input, context, dryRun: true })
  if (!input.yes || signal.aborted) {
    const why = signal.aborted ? ' (interrupted)' : '. Add --yes to replay them'
    terminal.notify(`Nothing was started: ${dry.done.length} of ${selected.length} would be replayed${why}.`)
    if (dry.seen > dry.done.length) process.exitCode = 1
    return
  }
  const real = await replayEach(dry.done, { input, context, dryRun: false })
  const rest = signal.aborted ? '; run the same command again to continue' : ''
  terminal.notify(`${real.done.length} of ${selected.length} were replayed${rest}.`)
  if (real.done.length < selected.length) process.exitCode = 1
}

/** The matching requests, oldest first, without duplicates, handshakes, replays and requests that were replayed. */
async function selectRequests(input: ReplayInput, { control, terminal }: Context): Promise<RequestLine[]> {
  const { limit, again, hook, status } = input
  const matching: RequestLine[] = []
  for await (const line of listRequests(control, input)) {
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
  const left = matching.length - remaining.length
  if (left > 0) terminal.notify(`${left} of ${matching.length} were already replayed; --again includes them.`)
  return remaining
}

/** The ids of requests that were replayed. */
async function replayedSince(control: ControlClient, filter: Filter): Promise<Set<string>> {
  const replayed = new Set<string>()
  for await (const { replayOf, status } of listRequests(control, filter))
    if (replayOf !== undefined && (status === 'accepted' || status === 'skipped')) replayed.add(replayOf)
  return replayed
}

interface Pass {
  input: ReplayInput
  context: Context
  dryRun: boolean
}

const steps = {
  check: { title: 'Dry run', unit: 'requests' },
  replay: { title: 'Replaying', unit: 'requests' },
} as const

/** Ctrl-C stops between two requests. Rejected ones are printed; if the gateway no longer answers, it throws. */
async function replayEach(lines: readonly RequestLine[], pass: Pass): Promise<{ seen: number; done: RequestLine[] }> {
  const { input, context, dryRun } = pass
  const { signal, terminal } = context
  const done: RequestLine[] = []
  const view = await terminal.showProgress(steps, { onlyInTerminal: true })
  let seen = 0
  try {
    for (const line of lines) {
      view.report({ step: dryRun ? 'check' : 'replay', done: seen, total: lines.length })
      if (seen > 0) await delay(1000 / input.rate, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) break
      seen++
      const { text, isDone } = await replayOne(line, pass)
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
  { input: { json, mapping }, context, dryRun }: Pass,
): Promise<{ text: string; isDone: boolean }> {
  const format = (what: object, words: string): string =>
    json ? JSON.stringify({ request: line.id, ...what }) : [...lineHead(line), words].join('  ')
  try {
    const answer = await replayRequest(context.control, line.id, { dryRun, mapping })
    return { text: format(answer, dryRun ? describePlan(answer) : describeReplay(answer)), isDone: true }
  } catch (error) {
    if (!isCommandError(error) || !error.response) throw error
    return { text: format({ ok: false, error: error.response }, `rejected: ${error.message}`), isDone: false }
  }
}
