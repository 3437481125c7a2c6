// The command `requests`: lists what came in through the hooks, so that an id can be found.
import { type ControlOptions, openControl } from './control-client.ts'
import { describeLine, type Filter, type RequestLine, lineHead, listRequests } from './request-list.ts'

interface ListOptions extends ControlOptions, Filter {
  limit: number
  json?: boolean
}

export async function printRequests({ limit, json, ...options }: ListOptions): Promise<void> {
  // Whoever reads may have enough, as `head` does.
  process.stdout.on('error', () => process.exit(0))
  let count = 0
  for await (const line of listRequests(openControl(options), options)) {
    if (count === limit)
      return void process.stderr.write(`There are more than ${limit}; --limit shows more, --since and --hook fewer.\n`)
    process.stdout.write(json ? `${JSON.stringify(line)}\n` : describe(line))
    count++
  }
  if (count === 0) process.stderr.write('There is no such request.\n')
}

const describe = (line: RequestLine): string => `${[lineHead(line), describeLine(line)].filter(Boolean).join('  ')}\n`
