// Opens the resources that successive runtimes share: toolsets and the transform sandbox. The last user closes them.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config/schema.ts'
import { createExtensionLog } from '../loader/extension-log.ts'
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts'
import { openToolRegistry, type ToolRegistry } from '../tools/registry.ts'
import type { BuildContext } from './build-context.ts'

/** The open toolsets. A reload reuses them when their settings are the same. */
export interface Tools extends Shared {
  settings: Config['tools']
  registry: ToolRegistry
}

/** The sandbox for transforms. A reload reuses it when the transforms directory is the same. */
export interface Transforms extends Shared {
  dir: string
  sandbox: Sandbox
}

/** The resources that the next runtime may reuse. */
export interface Reusable {
  tools: Tools
  transforms: Transforms
}

interface Shared {
  /** Registers a user. Call the returned function once, when you are done. The last such call closes the resource. */
  use(): () => Promise<void>
}

export async function acquireTools(context: BuildContext): Promise<Tools> {
  const { config, previous, opened } = context
  const isSame = previous !== undefined && isDeepStrictEqual(previous.tools.settings, config.tools)
  const tools = isSame ? previous.tools : await openTools(context)
  opened.defer(tools.use())
  return tools
}

export function acquireTransforms(context: BuildContext): Transforms {
  const { config, previous, opened } = context
  const isSame = previous?.transforms.dir === config.hooks.transformsDir
  const transforms = isSame ? previous.transforms : openTransforms(context)
  opened.defer(transforms.use())
  return transforms
}

async function openTools({ config, services, lifecycle: { stopping } }: BuildContext): Promise<Tools> {
  const { environment, logs, storage } = services
  const stop = new AbortController()
  const registry = await openToolRegistry({
    toolsets: environment.extensions.toolsets.values(),
    settings: (toolset) => (config.tools as Record<string, unknown>)[toolset] ?? {},
    context: (toolset) => ({
      log: createExtensionLog(logs.logFor('tools'), { toolset }),
      signal: stop.signal,
      state: storage.stateOf(`toolset:${toolset}`),
    }),
    stopping,
  })
  const close = async (): Promise<void> => {
    stop.abort()
    await registry.close()
  }
  if (stopping.aborted) await close()
  stopping.throwIfAborted()
  return { settings: config.tools, registry, use: countUsers(close) }
}

function openTransforms({ config, services: { environment, logs } }: BuildContext): Transforms {
  const dir = config.hooks.transformsDir
  const sandbox = createSandbox({ root: join(environment.dir, 'transforms'), dir, log: logs.logFor('sandbox') })
  return { dir, sandbox, use: countUsers(sandbox.close) }
}

function countUsers(close: () => Promise<void>): Shared['use'] {
  let users = 0
  return () => {
    users++
    return async () => {
      users--
      if (users === 0) await close()
    }
  }
}
