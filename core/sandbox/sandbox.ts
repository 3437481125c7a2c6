// Where transforms run: files of the operator, in processes that can read, reach and harm nothing.
import { dirname } from 'node:path'
import { PathError } from '../config/file/paths.ts'
import type { Log, TransformInput } from '../plugin.ts'
import type { JsonSchema } from '../typebox.ts'
import type { ChildLimits } from './pool/child.ts'
import { openTransformsDirectory, type TransformsDirectory } from './transforms-directory.ts'
import { createPool, type Pool } from './pool.ts'
import { createResultReader, type ReadResult } from './result.ts'
import { readRunner } from './runner-code.ts'
import { createTransform, type Transform, type TransformRun, type TransformState } from './transform.ts'
import { TransformError } from './transform-error.ts'
import { createWatcher, type Watcher } from './watch.ts'

export interface SandboxOptions extends Partial<ChildLimits> {
  /** Where all transforms must lie: `transforms` in the configuration directory. Absolute. */
  root: string
  /** The folder that is in use, inside `root`. Absolute. */
  dir: string
  log: Log
  /** Processes that serve at the same time; one more stands by. */
  processes?: number
}

/**
 * What the transform is called with, but for the payload: the body as JSON text, or its bytes in UTF-8. It is not
 * parsed in this process.
 */
export interface TransformCall extends Omit<TransformInput, 'payload'> {
  payload: string | Uint8Array
}

export interface TransformHandle {
  /** Resolves when the file has been tried for the first time, whatever came of it. */
  ready: Promise<void>
  /** Schema that the module declares for its payload: to be shown, never to be run in this process. */
  readonly payloadSchema: JsonSchema | undefined
  state(): TransformState
  /** @throws {TransformError} */
  run(call: TransformCall): Promise<TransformRun>
  /** Forgets it, when nobody else uses the same one. */
  close(): void
}

export interface Sandbox {
  /**
   * Comes at once; the file is compiled behind it, and again whenever it changes. A file that is missing or broken
   * makes `run` reject until it is mended.
   * @throws {PathError} when `module`, or `dir`, leads out of where it must lie
   */
  load(module: string, options?: { export?: string; timeoutMs?: number }): TransformHandle
  /** Without a transform there is no process. */
  status(): { processes: { pid: number | undefined; pending: number }[]; transforms: TransformState[] }
  close(): Promise<void>
}

interface Insides {
  directory: TransformsDirectory
  pool: Pool
  watcher: Watcher
  readResult: ReadResult
}

export function createSandbox({ root, dir, log, ...limits }: SandboxOptions): Sandbox {
  const directory = openTransformsDirectory({ root, dir })
  /** By module and export: mappings that name the same one share it. */
  const shared = new Map<string, { transform: Transform; users: number }>()
  let insides: Insides | undefined

  /** What a gateway without transforms never needs. */
  const open = (): Insides => ({
    directory,
    pool: createPool({
      heapMb: 128,
      rssMb: 384,
      processes: 1,
      maxPending: 1024,
      maxPendingBytes: 67_108_864,
      loadMs: 3000,
      readRunner,
      log,
      ...limits,
    }),
    watcher: createWatcher({ top: dirname(root), log }),
    readResult: createResultReader(),
  })

  function acquire(module: string, exportName: string): { transform: Transform; release(): void } {
    const key = JSON.stringify([module, exportName])
    const entry = shared.get(key) ?? {
      transform: createTransform({ ...(insides ??= open()), module, exportName, log }),
      users: 0,
    }
    shared.set(key, entry)
    entry.users++
    const release = (): void => {
      entry.users--
      if (entry.users > 0) return
      shared.delete(key)
      entry.transform.close()
    }
    return { transform: entry.transform, release }
  }

  return {
    load(module, { export: exportName = 'default', timeoutMs = 1000 } = {}) {
      refuseEscape(directory, module)
      const { transform, release } = acquire(module, exportName)
      let close: (() => void) | undefined = release
      return {
        ready: transform.ready,
        get payloadSchema() {
          return transform.payloadSchema()
        },
        state: transform.state,
        async run({ payload, ...rest }) {
          if (payload.length > maxPayload)
            throw new TransformError('memory', `The payload is too large for the transform ${module}.`)
          return transform.run({ payload, rest: JSON.stringify(rest), timeoutMs })
        },
        close() {
          close?.()
          close = undefined
        },
      }
    },
    status: () => ({
      processes: insides?.pool.status() ?? [],
      transforms: [...shared.values()].map(({ transform }) => transform.state()),
    }),
    async close() {
      for (const { transform } of shared.values()) transform.close()
      shared.clear()
      insides?.watcher.close()
      await insides?.pool.close()
    },
  }
}

/** Beyond it parsing alone would burst the child. */
const maxPayload = 16_777_216

/** What is not there yet may come; what lies outside stops the start. */
function refuseEscape(directory: TransformsDirectory, module: string): void {
  try {
    directory.locate(module)
  } catch (error) {
    if (!(error instanceof PathError && error.missing)) throw error
  }
}
