// A client's request to run a tool, over HTTP or the WebSocket.
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
    const args = mergeAction(body, () => registry.find(tool)?.tool.args ?? {})
    return { ok: true, result: await invoke({ tool, args, subject }) }
  }
}

/** Adds `action` to the arguments if the tool has such an argument and the client has not set it. */
function mergeAction({ action, args = {} }: InvokeBody, schemaOf: () => object): Record<string, unknown> {
  if (action === undefined || Object.hasOwn(args, 'action') || !knownKeys(schemaOf(), []).includes('action'))
    return args
  return { ...args, action }
}
