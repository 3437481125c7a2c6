// The command `tools`: lists the tools that a session has over HTTP, runs one, and explains why one is allowed or not.
import type { ExplainReply, ListReply } from '../../tools/schemas.ts'
import type { Static } from '../../typebox.ts'
import { CommandError } from '../../plugin/errors.ts'
import { type ControlOptions, openControl } from '../control-client.ts'
import { escapeForTerminal } from '../../kit/escape-for-terminal.ts'
import { printFields, printList } from './output.ts'
import { parseJson, readText } from './read-input.ts'

interface ToolOptions extends ControlOptions {
  session?: string
  json?: boolean
}

export async function listTools({ session, json, ...options }: ToolOptions): Promise<void> {
  const query = session === undefined ? '' : `?${new URLSearchParams({ sessionKey: session }).toString()}`
  const { items } = (await openControl(options).get(`/tools${query}`)) as Static<typeof ListReply>
  await printList(
    items,
    { limit: items.length, ...(json && { json }) },
    {
      noun: 'tools',
      columns: [
        { title: 'TOOL', text: ({ name }) => name },
        { title: 'GROUP', text: ({ group = '' }) => group },
        { title: 'DESCRIPTION', text: ({ description }) => description },
      ],
    },
  )
}

/** `args` is JSON, `@file`, or `-` for standard input. */
export async function invokeTool(
  tool: string,
  { args, session, json, ...options }: ToolOptions & { args?: string },
): Promise<void> {
  const body = { tool, ...(args !== undefined && { args: readArguments(args) }), sessionKey: session }
  const { result } = (await openControl(options).post('/tools/invoke', body)) as { result: unknown }
  const text = json || typeof result !== 'string' ? JSON.stringify(result, null, json ? 0 : 2) : result
  process.stdout.write(`${escapeForTerminal(text)}\n`)
}

function readArguments(given: string): unknown {
  const file = given === '-' ? given : given.startsWith('@') ? given.slice(1) : undefined
  const args = parseJson('--args', file === undefined ? given : readText('--args', file))
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw new CommandError('--args must be a JSON object, such as {"path":"notes.md"}.')
  return args
}

export async function explainTool(
  tool: string,
  { session, origin, json, ...options }: ToolOptions & { origin?: string },
): Promise<void> {
  const body = { tool, sessionKey: session, origin }
  const answer = (await openControl(options).post('/tools/explain', body)) as ExplainReply
  if (json) return void process.stdout.write(`${JSON.stringify(answer)}\n`)
  printFields({ tool: answer.tool, allowed: answer.allowed ? 'yes' : 'no' })
  process.stdout.write('\n')
  const { layers } = answer
  await printList(
    layers,
    { limit: layers.length },
    {
      noun: 'layers',
      columns: [
        { title: 'LAYER', text: ({ layer }) => layer },
        { title: 'VERDICT', text: ({ verdict }) => verdict },
        { title: 'RULE', text: ({ rule = '' }) => rule },
      ],
    },
  )
}
