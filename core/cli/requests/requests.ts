// The command `requests`: lists webhook requests, or shows one.
import { CommandError } from '../../plugin/errors.ts'
import { type ControlOptions, openControl } from '../control-client.ts'
import { describeLine, type Filter, type RequestLine, lineHead, listRequests } from './request-list.ts'

import { describeRequest, type RequestDetails } from './request-text.ts'

interface ListOptions extends ControlOptions, Filter {
  limit: number
  json?: boolean
}

export async function printRequests(id: string | undefined, options: ListOptions): Promise<void> {
  if (id === undefined) return await printList(options)
  const { hook, status, runStatus, since, until, text, json } = options
  if ([hook, status, runStatus, since, until, text].some((value) => value !== undefined))
    throw new CommandError('Give either a request id or a filter, not both.')
  const request = (await openControl(options).get(`/api/requests/${encodeURIComponent(id)}`)) as RequestDetails
  process.stdout.write(json ? `${JSON.stringify(request)}\n` : describeRequest(request))
}

async function printList({ limit, json, ...options }: ListOptions): Promise<void> {
  // The reader of a pipe may close it, as `head` does.
  process.stdout.on('error', () => process.exit(0))
  let count = 0
  for await (const line of listRequests(openControl(options), options)) {
    if (count === limit)
      return void process.stderr.write(
        `There are more than ${limit} requests; use --limit to see more, or --since and --hook to select.\n`,
      )
    process.stdout.write(json ? `${JSON.stringify(line)}\n` : describe(line))
    count++
  }
  if (count === 0) process.stderr.write('No request matches.\n')
}

const describe = (line: RequestLine): string => `${[lineHead(line), describeLine(line)].filter(Boolean).join('  ')}\n`
