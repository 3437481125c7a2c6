// Opens the resources that successive runtimes share: toolsets and the transform sandbox. The last user closes them.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createExtensionLog } from '../loader/extension-log.ts'
import { isOwnToolset } from '../loader/registry.ts'
import { createSandbox } from '../sandbox/sandbox.ts'
import { openToolRegistry } from '../tools/registry.ts'
import type { BuildContext, Shared, Tools, Transforms } from './build-context.ts'

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
    renames: config.tools.rename,
    isVerified: (toolset) => isOwnToolset(environment.extensions, toolset),
    redact: services.redactor.text,
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

function openTransforms({ config, services: { environment, logs }, lifecycle }: BuildContext): Transforms {
  const dir = config.hooks.transformsDir
  const root = join(environment.dir, 'transforms')
  const sandbox = createSandbox({ root, dir, log: logs.logFor('sandbox'), startAfter: lifecycle.started })
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
