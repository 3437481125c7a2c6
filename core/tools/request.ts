// A client's request to run one tool, over HTTP or the WebSocket: the same body, the same rules, the same answer.
import { knownKeys } from '../config/walk.ts'
import type { ToolRegistry } from './registry.ts'
import type { Invoke } from './invoke.ts'
import type { InvokeBody, InvokeReply } from './schemas.ts'
import type { Subject } from './subject.ts'

export type ToolRequest = (body: InvokeBody, subject: Subject) => Promise<InvokeReply>

export function createToolRequest({
  registry,
  invoke,
}: {
  registry: Pick<ToolRegistry, 'find'>
  invoke: Invoke
}): ToolRequest {
  return async (body, subject) => {
    const tool = body.tool.trim()
    const args = argumentsOf(body, () => registry.find(tool)?.tool.args ?? {})
    return { ok: true, result: await invoke({ tool, args, subject }) }
  }
}

/** `action` beside the arguments becomes one of them where the tool knows such an argument and it is not among them. */
function argumentsOf({ action, args = {} }: InvokeBody, schemaOf: () => object): Record<string, unknown> {
  if (action === undefined || Object.hasOwn(args, 'action') || !knownKeys(schemaOf(), []).includes('action'))
    return args
  return { ...args, action }
}
