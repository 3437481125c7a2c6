// The command `replay`: has a request done once more, or shows what would happen; with a filter, many of them.
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { CommandError } from './command-error.ts'
import { type ControlOptions, openControl, withControlOptions } from './control-client.ts'
import { parseCount, withFilterOptions } from './request-list.ts'
import { type ManyOptions, replayRequest, replayMany } from './replay-many.ts'
import { describeDryRun, describeReplay } from './replay-text.ts'

export function register(program: Command): void {
  const command = program
    .command('replay')
    .description('Have a request of the running gateway done once more, or several that a filter chooses.')
    .argument('[request-id]', 'the request, as "requests" lists it')
    .option('--dry-run', 'show what would happen; nothing is started')
    .option('--mapping <id>', 'the mapping or preset that is to have it, in place of the one that is found')
    .option('--body <file>', 'a file with JSON in place of the body that came; "-" is standard input')
  withControlOptions(withFilterOptions(command))
    .option('--yes', 'several: replay them, once the dry run of all of them is done')
    .option('--again', 'several: also those that were replayed already')
    .option('--limit <number>', 'several: refuse to begin when more than these fit', parseCount, 100)
    .option('--rate <number>', 'several: most requests a second', parseCount, 5)
    .option('--json', 'one JSON object a line')
    .action(replay)
}

interface ReplayOptions extends ManyOptions, ControlOptions {
  body?: string
}

async function replay(id: string | undefined, options: ReplayOptions): Promise<void> {
  const { hook, status, runStatus, since, until, text, dryRun, mapping, body, json } = options
  const filtered = [hook, status, runStatus, since, until, text].some((value) => value !== undefined)
  if (id === undefined && !filtered)
    throw new CommandError(
      'Name a request, or choose several with --hook, --status, --run-status, --since, --until or --text.',
    )
  if (id !== undefined && filtered) throw new CommandError('Name a request or choose several with a filter, not both.')
  if (id === undefined && body !== undefined)
    throw new CommandError('--body is for one request; leave it out, or name a request in place of the filter.')
  if (dryRun && options.yes) throw new CommandError('--dry-run and --yes contradict each other; leave one of them out.')
  if (id === undefined) return await replayMany(openControl(options), options)
  const request = { dryRun, mapping, ...(body !== undefined && { body: readBody(body) }) }
  const answer = await replayRequest(openControl(options), id, request)
  process.stdout.write(
    json ? `${JSON.stringify(answer)}\n` : dryRun ? describeDryRun(answer) : `${describeReplay(answer)}\n`,
  )
}

function readBody(file: string): unknown {
  const name = file === '-' ? 'standard input' : file
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new CommandError(
      `--body names ${name}, which can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}).`,
    )
  }
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandError(`--body names ${name}, which holds no JSON.`)
  }
}
