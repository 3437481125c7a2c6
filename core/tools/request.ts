// A client's request to run one tool, over HTTP or the WebSocket: the same body, the same rules, the same answer.
import { knownKeys } from '../config/walk.ts'
import type { Catalogue } from './catalogue.ts'
import type { Invoke } from './invoke.ts'
import type { InvokeBody, InvokeReply } from './messages.ts'
import type { Subject } from './subject.ts'

export type ToolRequest = (body: InvokeBody, subject: Subject) => Promise<InvokeReply>

export function createToolRequest({ catalogue, invoke }: { catalogue: Pick<Catalogue, 'find'>; invoke: Invoke }): ToolRequest {
  return async (body, subject) => {
    const tool = body.tool.trim()
    const args = argumentsOf(body, () => catalogue.find(tool)?.tool.args ?? {})
    return { ok: true, result: await invoke({ tool, args, subject }) }
  }
}

/** `action` beside the arguments becomes one of them where the tool knows such an argument and it is not among them. */
function argumentsOf({ action, args = {} }: InvokeBody, schemaOf: () => object): Record<string, unknown> {
  if (action === undefined || Object.hasOwn(args, 'action') || !knownKeys(schemaOf(), []).includes('action')) return args
  return { ...args, action }
}
