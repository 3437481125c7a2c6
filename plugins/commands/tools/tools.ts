// Lists, runs and explains the tools of the running gateway.
import { parseJson, readBytesOf } from 'svc-gateway/kit'
import { CommandError, type CommandContext } from 'svc-gateway/plugin'

type Context = CommandContext<'control'>

interface SessionInput {
  session?: string
  json?: boolean
}

interface ToolLine {
  name: string
  group?: string
  description: string
  verdict: string
}

export async function listTools({ session, json }: SessionInput, { control, terminal }: Context): Promise<void> {
  const query = session === undefined ? '' : `?${new URLSearchParams({ sessionKey: session }).toString()}`
  const { items } = await control.get<{ items: ToolLine[] }>(`/tools${query}`)
  await terminal.printList(items, {
    noun: 'tools',
    json,
    columns: {
      TOOL: ({ name }) => name,
      GROUP: ({ group }) => group,
      VERDICT: ({ verdict }) => verdict,
      DESCRIPTION: ({ description }) => description,
    },
  })
}

interface Call extends SessionInput {
  tool: string
  /** JSON, `@file`, or `-` for standard input. */
  args?: string
}

export async function invokeTool({ tool, args, session, json }: Call, { control, terminal }: Context): Promise<void> {
  const body = { tool, ...(args !== undefined && { args: readArguments(args) }), sessionKey: session }
  const { result } = await control.post<{ result: unknown }>('/tools/invoke', body)
  terminal.print(json || typeof result !== 'string' ? JSON.stringify(result, null, json ? 0 : 2) : result)
}

function readArguments(given: string): unknown {
  const file = given === '-' ? given : given.startsWith('@') ? given.slice(1) : undefined
  const args = parseJson('--args', file === undefined ? given : readBytesOf('--args', file).toString('utf8'))
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    throw new CommandError('--args must be a JSON object, such as {"path":"notes.md"}.')
  return args
}

interface Explanation {
  tool: string
  verdict: string
  rule?: string
  layers: readonly { layer: string; verdict: string; rule?: string }[]
}

export async function explainTool(
  { tool, session, origin, json }: SessionInput & { tool: string; origin?: string },
  { control, terminal }: Context,
): Promise<void> {
  const answer = await control.post<Explanation>('/tools/explain', { tool, sessionKey: session, origin })
  if (json) return terminal.printJson(answer)
  terminal.printFields({ tool: answer.tool, verdict: answer.verdict, rule: answer.rule })
  terminal.print('')
  await terminal.printList(answer.layers, {
    noun: 'layers',
    columns: { LAYER: ({ layer }) => layer, VERDICT: ({ verdict }) => verdict, RULE: ({ rule }) => rule },
  })
}
