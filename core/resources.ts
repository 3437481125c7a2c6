// What runtimes hand on to each other: the open toolsets and the sandbox of the transforms, closed when the last user lets them go.
import { join } from 'node:path'
import type { Config } from './config/schema.ts'
import type { Parts } from './loader/registry.ts'
import type { Log, PartState } from './plugin.ts'
import { createSandbox, type Sandbox } from './sandbox/sandbox.ts'
import { type Catalogue, openCatalogue } from './tools/catalogue.ts'

export interface ResourceDeps {
  dir: string
  parts: Parts
  logFor(room: string): Log
  state(part: string): PartState
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
  catalogue: Catalogue
}

/** What several runtimes may use, one after the other and for a while at once. */
interface Shared {
  /** Call what it returns when you need it no more: the last one closes it. */
  use(): () => Promise<void>
}

export async function openTools({ parts, logFor, state, stopping }: ResourceDeps, { tools }: Config): Promise<Tools> {
  const stop = new AbortController()
  const catalogue = await openCatalogue({
    toolsets: parts.toolsets.values(),
    settings: (toolset) => (tools as Record<string, unknown>)[toolset] ?? {},
    context: (toolset) => ({ log: logFor('tools'), signal: stop.signal, state: state(`toolset:${toolset}`) }),
    stopping,
  })
  const close = async (): Promise<void> => {
    stop.abort()
    await catalogue.close()
  }
  if (stopping.aborted) await close()
  stopping.throwIfAborted()
  return { settings: tools, catalogue, use: countUsers(close) }
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
