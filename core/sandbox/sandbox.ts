// The sandbox: runs the operator's transforms in child processes without access to files, network or environment.
import { dirname } from 'node:path'
import { PathError } from '../config/file/paths.ts'
import { createFileWatch } from '../config/file/watch.ts'
import type { Log } from '../plugin/plugin.ts'
import type { TransformInput } from '../transform.ts'
import type { JsonSchema } from '../typebox.ts'
import type { ChildLimits } from './pool/limits.ts'
import { createBundler } from './bundler.ts'
import { openTransformsDirectory, type TransformsDirectory } from './transforms-directory.ts'
import { createPool, type PoolOptions } from './pool/pool.ts'
import { createResultReader } from './result.ts'
import { readRunner } from './runner-code.ts'
import { createTransform, type Transform, type TransformRun, type TransformState } from './transform.ts'
import { TransformError } from './transform-error.ts'

export interface SandboxOptions extends Partial<ChildLimits & Pick<PoolOptions, 'loadMs' | 'idleMs'>> {
  /** Absolute path of the folder that must contain all transforms: `transforms` in the configuration directory. */
  root: string
  /** Absolute path of the transforms directory in use: `root` or a folder inside it. */
  dir: string
  log: Log
  /** No transform is compiled before this resolves, so that the start of the gateway is not slowed down. */
  startAfter?: Promise<void>
}

/** A transform's input with its payload as JSON text, or as its bytes in UTF-8: this process does not parse it. */
export interface UnparsedInput extends Omit<TransformInput, 'payload'> {
  payload: string | Uint8Array
}

export interface TransformHandle {
  /** Resolves when the first compilation has succeeded or failed. */
  ready: Promise<void>
  /** The schema that the module declares for its payload. For display only: this process never validates with it. */
  readonly payloadSchema: JsonSchema | undefined
  state(): TransformState
  /** @throws {TransformError} */
  run(input: UnparsedInput): Promise<TransformRun>
  /** Releases the transform; the last handle to be closed unloads it. */
  close(): void
}

interface LoadOptions {
  export?: string
  timeoutMs?: number
  /** The runs are tried out: their failures do not open the circuit breaker of the runs that are not. */
  isTrial?: boolean
}

export interface Sandbox {
  /**
   * Returns at once and compiles the file in the background, and again whenever it changes. `run` rejects while the
   * file is missing or broken.
   * @throws {PathError} when `module` is outside the transforms directory, or `dir` outside `root`
   */
  load(module: string, options?: LoadOptions): TransformHandle
  /** The modules in the transforms directory that can be loaded, sorted. Empty when there is no such folder. */
  list(): Promise<readonly string[]>
  /** The processes that run transforms: none before the first call, and none when there was no call for a while. */
  status(): { processes: { pid: number | undefined }[]; transforms: TransformState[] }
  close(): Promise<void>
}

export function createSandbox({ root, dir, log, startAfter, ...limits }: SandboxOptions): Sandbox {
  const directory = openTransformsDirectory({ root, dir })
  /** Mappings that name the same module and export share a transform. */
  const shared = new Map<string, { transform: Transform; users: number }>()
  const bundler = createBundler({ root, dir })
  const pool = createPool({
    heapMb: 128,
    rssMb: 384,
    maxPending: 1024,
    maxPendingBytes: 67_108_864,
    loadMs: 3000,
    idleMs: 60_000,
    readRunner,
    log,
    ...limits,
  })
  const watchFiles = (onChange: () => void) => createFileWatch({ onChange, top: dirname(root) })
  const deps = { bundler, pool, watchFiles, readResult: createResultReader(), startAfter, log }

  function acquire(module: string, { export: exportName = 'default', isTrial = false }: LoadOptions) {
    const key = JSON.stringify([module, exportName, isTrial])
    const entry = shared.get(key) ?? { transform: createTransform({ ...deps, module, exportName }), users: 0 }
    shared.set(key, entry)
    entry.users++
    let isOpen = true
    function close(): void {
      if (!isOpen) return
      isOpen = false
      if (--entry.users > 0) return
      shared.delete(key)
      entry.transform.close()
    }
    return { transform: entry.transform, close }
  }

  return {
    load(module, options = {}) {
      const { timeoutMs = 1000 } = options
      assertInside(directory, module)
      const { transform, close } = acquire(module, options)
      return {
        ready: transform.ready,
        get payloadSchema() {
          return transform.payloadSchema()
        },
        state: transform.state,
        async run({ payload, ...rest }) {
          if (payload.length > maxPayloadLength)
            throw new TransformError('memory', `The payload is too large for the transform ${module}.`)
          return transform.run({ payload, rest: JSON.stringify(rest), timeoutMs })
        },
        close,
      }
    },
    list: directory.list,
    status: () => ({
      processes: pool.status(),
      transforms: [...shared.values()].map(({ transform }) => transform.state()),
    }),
    async close() {
      for (const { transform } of shared.values()) transform.close()
      shared.clear()
      await Promise.all([bundler.close(), pool.close()])
    },
  }
}

/** Parsing a larger payload would exceed the memory limit of the child. */
const maxPayloadLength = 16_777_216

/** A missing file is allowed, because it may be created later. */
function assertInside(directory: TransformsDirectory, module: string): void {
  try {
    directory.locate(module)
  } catch (error) {
    if (!(error instanceof PathError && error.missing)) throw error
  }
}
