// What runtimes hand on to each other: the open toolsets and the sandbox of the transforms, closed when the last user
// lets them go.
import { join } from 'node:path'
import type { Config } from './config/schema.ts'
import type { Extensions } from './loader/registry.ts'
import type { Log, ExtensionState } from './plugin.ts'
import { createSandbox, type Sandbox } from './sandbox/sandbox.ts'
import { type ToolRegistry, openToolRegistry } from './tools/registry.ts'

export interface ResourceDeps {
  dir: string
  extensions: Extensions
  logFor(component: string): Log
  state(extension: string): ExtensionState
  /** Aborts when the gateway stops: what is being opened is given up then. */
  stopping: AbortSignal
}

/** Where transforms run, kept as long as they lie in the same folder. */
export interface Transforms extends Shared {
  dir: string
  sandbox: Sandbox
}

/** The open toolsets, kept as long as their settings stay the same. */
export interface Tools extends Shared {
  settings: Config['tools']
  registry: ToolRegistry
}

/** What several runtimes may use, one after the other and for a while at once. */
interface Shared {
  /** Call what it returns when you need it no more: the last one closes it. */
  use(): () => Promise<void>
}

export async function openTools(
  { extensions, logFor, state, stopping }: ResourceDeps,
  { tools }: Config,
): Promise<Tools> {
  const stop = new AbortController()
  const registry = await openToolRegistry({
    toolsets: extensions.toolsets.values(),
    settings: (toolset) => (tools as Record<string, unknown>)[toolset] ?? {},
    context: (toolset) => ({ log: logFor('tools'), signal: stop.signal, state: state(`toolset:${toolset}`) }),
    stopping,
  })
  const close = async (): Promise<void> => {
    stop.abort()
    await registry.close()
  }
  if (stopping.aborted) await close()
  stopping.throwIfAborted()
  return { settings: tools, registry, use: countUsers(close) }
}

export function openTransforms({ dir, logFor }: ResourceDeps, { hooks }: Config): Transforms {
  const sandbox = createSandbox({ root: join(dir, 'transforms'), dir: hooks.transformsDir, log: logFor('sandbox') })
  return { dir: hooks.transformsDir, sandbox, use: countUsers(sandbox.close) }
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
