// Converts the tools of a server into tools of the gateway, named after the server. Invalid tools are left out.
import { hash } from 'node:crypto'
import { defineTool, type Log, type Tool, type ToolText } from 'svc-gateway/plugin'
import { maxDescription, maxTools } from './limits.ts'
import { resultOf } from './result.ts'
import { plainSchema } from './schema.ts'
import type { CallTool, Listed } from './session.ts'
import { cleanText } from './text.ts'

export interface ToolsDeps {
  /** The server's name in the configuration. */
  server: string
  call: CallTool
  /** Which texts of its tools were written outside of the gateway. */
  external: ToolText
  log: Log
}

/** The group of all of them in a policy. */
export const group = 'mcp'

export function toTools(listed: readonly Listed[], deps: ToolsDeps): Tool[] {
  const { server, log } = deps
  if (listed.length > maxTools)
    log.warn({ server }, `An MCP server lists more than ${maxTools} tools; those beyond are left out.`)
  const tools = new Map<string, Tool>()
  for (const one of listed.slice(0, maxTools)) {
    try {
      const tool = toTool(one, deps)
      if (tools.has(tool.name)) throw new Error('another tool of this server has the same name')
      tools.set(tool.name, tool)
    } catch (error) {
      const tool = cleanText(String(one['name']), longestName)
      log.warn({ server, tool }, `A tool of an MCP server is left out: ${(error as Error).message}.`)
    }
  }
  return [...tools.values()]
}

function toTool(listed: Listed, { server, call, external }: ToolsDeps): Tool {
  const { name, description, inputSchema, annotations, fault } = listed
  if (typeof fault === 'string') throw new Error(fault)
  if (typeof name !== 'string' || !/[a-z0-9]/i.test(name)) throw new Error('it has no name that can be used')
  const text = typeof description === 'string' ? cleanText(description, maxDescription) : ''
  return defineTool<Record<string, unknown>>({
    name: toolName(server, name),
    group,
    description:
      (text || `The tool "${cleanText(name, longestName)}".`) +
      ` (from the MCP server "${cleanText(server, longestName)}")`,
    args: plainSchema(inputSchema),
    ...readAnnotations(annotations),
    external,
    service: server,
    execute: (args, context) => resultOf(call(listed, args, context)),
  })
}

/** What the server says of the tool. A false hint does no more than a second call, or misleads a person as the server can. */
function readAnnotations(annotations: unknown): Pick<Tool, 'changes' | 'repeatable'> {
  const { readOnlyHint, destructiveHint, idempotentHint } = (annotations ?? {}) as Listed
  const changes = readOnlyHint === true ? 'nothing' : destructiveHint === false ? 'adds' : undefined
  return { ...(changes && { changes }), repeatable: changes === 'nothing' || idempotentHint === true }
}

/** Longest tool name that model services accept, in characters. */
const longestName = 64

/** Only the separator has two underscores, so no server can use a name of another server. */
export function toolPrefix(server: string): string {
  const name = snakeCase(server)
  return `${/^[a-z]/.test(name) ? name : `mcp_${name}`}__`
}

/** A longer name is cut and ends with a hash of the whole name. */
function toolName(server: string, tool: string): string {
  const name = `${toolPrefix(server)}${snakeCase(tool)}`
  return name.length <= longestName
    ? name
    : `${name.slice(0, longestName - 9)}_${hash('sha256', `${server}\n${tool}`).slice(0, 8)}`
}

const snakeCase = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]+/g, '_')
