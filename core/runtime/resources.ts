// Opens the resources that successive runtimes share: toolsets and the transform sandbox. The last user closes them.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createExtensionLog } from '../loader/extension-log.ts'
import { isOwnToolset } from '../loader/registry.ts'
import { createSandbox } from '../sandbox/sandbox.ts'
import { openToolRegistry } from '../tools/registry.ts'
import type { BuildContext, Shared, Tools, Transforms } from './build-context.ts'

export async function acquireTools(context: BuildContext): Promise<Tools> {
  const { previous, opened } = context
  const isSame = previous !== undefined && isDeepStrictEqual(previous.tools.settings, settingsOf(context))
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

async function openTools(context: BuildContext): Promise<Tools> {
  const { services, lifecycle } = context
  const { stopping } = lifecycle
  const settings = settingsOf(context)
  const { environment, logs, storage } = services
  const stop = new AbortController()
  const registry = await openToolRegistry({
    toolsets: environment.extensions.toolsets.values(),
    settings: (toolset) => settings.sections[toolset],
    context: (toolset) => ({
      log: createExtensionLog(logs.logFor('tools'), { toolset }),
      signal: stop.signal,
      state: storage.stateOf(`toolset:${toolset}`),
    }),
    renames: settings.rename,
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
  return { settings, registry, use: countUsers(close) }
}

/** What the registry is opened with. The rest of `tools` is the policy, which every runtime has its own of. */
function settingsOf({ config, services }: BuildContext): Tools['settings'] {
  const sections = config.tools as Record<string, unknown>
  const names = [...services.environment.extensions.toolsets.keys()]
  return {
    rename: config.tools.rename,
    sections: Object.fromEntries(names.map((name) => [name, sections[name] ?? {}])),
  }
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
