// The command `replay`: replays one request, or all that a filter selects, or shows what a replay would do.
import { CommandError } from '../../plugin/errors.ts'
import { type ControlOptions, openControl } from '../control-client.ts'
import { nameOf, parseJson, readText } from '../inspect/read-input.ts'
import { type ManyOptions, replayRequest, replayMany } from './replay-many.ts'
import { describeDryRun, describeReplay } from './replay-text.ts'

interface ReplayOptions extends ManyOptions, ControlOptions {
  body?: string
}

export async function replay(id: string | undefined, options: ReplayOptions): Promise<void> {
  const { hook, status, runStatus, since, until, text, dryRun, mapping, body, json } = options
  const filtered = [hook, status, runStatus, since, until, text].some((value) => value !== undefined)
  if (id === undefined && !filtered)
    throw new CommandError(
      'Give a request id, or select requests with --hook, --status, --run-status, --since, --until or --text.',
    )
  if (id !== undefined && filtered) throw new CommandError('Give either a request id or a filter, not both.')
  if (id === undefined && body !== undefined)
    throw new CommandError('--body is for a single request; omit it, or give a request id instead of the filter.')
  if (dryRun && options.yes) throw new CommandError('--dry-run and --yes exclude each other; omit one of them.')
  if (id === undefined) return await replayMany(openControl(options), options)
  const request = { dryRun, mapping, ...(body !== undefined && { body: readBody(body) }) }
  const answer = await replayRequest(openControl(options), id, request)
  process.stdout.write(
    json ? `${JSON.stringify(answer)}\n` : dryRun ? describeDryRun(answer) : `${describeReplay(answer)}\n`,
  )
}

const readBody = (file: string): unknown => parseJson(`--body: ${nameOf(file)}`, readText('--body', file))
