// One transform: compiles its file, recompiles it whenever it changes, and runs the last good version.
import type { FileWatch } from '../config/file/watch.ts'
import type { Log } from '../plugin/plugin.ts'
import type { TransformResult } from '../transform.ts'
import type { JsonSchema } from '../typebox.ts'
import type { Bundle, Bundler } from './bundler.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'
import type { LogLine } from './ipc-frames.ts'
import { readPayloadSchema } from './payload-schema.ts'
import type { Pool, RunRequest } from './pool/pool.ts'
import { ChildEnded, type ChildResponse } from './pool/child.ts'
import { type DescribePosition, describePositionsIn, readLogLines, toTransformError } from './response.ts'
import type { ReadResult } from './result.ts'
import { TransformError } from './transform-error.ts'

export interface TransformRun {
  /** `undefined`: no change; `null`: skip. */
  result: TransformResult
  logs: readonly LogLine[]
  /** Execution time in the child, in milliseconds. */
  ms: number
}

export interface TransformState {
  module: string
  export: string
  /** `failed`: no version can run. `open`: the circuit breaker is open, so the transform does not run for now. */
  state: 'loading' | 'ready' | 'failed' | 'open'
  /** What is wrong with the current file, even if an older version is still in use. */
  problem?: string
  loadedAt?: string
}

export interface Transform {
  ready: Promise<void>
  payloadSchema(): JsonSchema | undefined
  state(): TransformState
  run(request: RunRequest): Promise<TransformRun>
  close(): void
}

interface TransformDeps {
  module: string
  exportName: string
  bundler: Bundler
  pool: Pool
  watchFiles(onChange: () => void): FileWatch
  readResult: ReadResult
  /** Nothing is compiled before this resolves. */
  startAfter: Promise<void> | undefined
  log: Log
}

interface Version {
  moduleId: number
  schema: JsonSchema | undefined
  describePosition: DescribePosition
  loadedAt: string
}

export function createTransform(deps: TransformDeps): Transform {
  const { module, exportName, bundler, pool, watchFiles, readResult, startAfter, log } = deps
  const watch = watchFiles(() => void refresh())
  const breaker = createCircuitBreaker()
  let version: Version | undefined
  let problem: TransformError | undefined
  let refreshing: Promise<void> | undefined
  let isClosed = false

  /** Compiles once at a time. What changes in the meantime is found when the files that were read are followed. */
  function refresh(): Promise<void> {
    return (refreshing ??= (async () => {
      await startAfter
      if (!isClosed) await compile()
    })().finally(() => (refreshing = undefined)))
  }

  async function compile(): Promise<void> {
    const reply = await bundler.bundle(module)
    try {
      if ('fault' in reply) throw new TransformError(reply.fault, reply.message)
      const response = await probe(reply.bundle)
      if (!isClosed) activate(reply.bundle, response)
    } catch (error) {
      const known = error instanceof TransformError
      reject(known ? error : compileError(module, error as Error))
    }
    if (!isClosed) watch.follow(new Map(reply.seen))
  }

  async function probe({ code, map }: Bundle): Promise<ChildResponse> {
    const response = await pool.probe({ code, exportName }).catch((error: unknown) => {
      if (!(error instanceof ChildEnded)) throw error
      throw endError(module, error.reason, ' while it was loaded')
    })
    if (response.outcome === 'ok') return response
    throw toTransformError(response, { module, exportName, describePosition: describePositionsIn(map) })
  }

  function activate(bundle: Bundle, { body }: ChildResponse): void {
    const schema = readPayloadSchema(body)
    const previous = version
    version = {
      moduleId: pool.add({ code: bundle.code, exportName }),
      schema,
      describePosition: describePositionsIn(bundle.map),
      loadedAt: new Date().toISOString(),
    }
    if (previous) pool.remove(previous.moduleId)
    problem = undefined
    breaker.close()
    log.info({ transform: module }, previous ? 'transform reloaded' : 'transform loaded')
  }

  function reject(error: TransformError): void {
    if (isClosed) return
    problem = error
    const fields = { transform: module, reason: error.message }
    if (version) log.warn(fields, 'the new version of a transform cannot be used; the last good one stays')
    else log.error(fields, 'a transform cannot be used; its hooks answer 500 until the file is fixed')
  }

  async function run(request: RunRequest): Promise<TransformRun> {
    if (!version && refreshing) await refreshing
    for (let attempt = 1; ; attempt++) {
      if (!version) throw problem ?? new TransformError('crash', `The transform ${module} is closed.`)
      if (breaker.isOpen()) throw new TransformError('disabled', `The transform ${module} ${disabled}.`)
      try {
        return readRun(await pool.run(version.moduleId, request), version)
      } catch (error) {
        if (!(error instanceof ChildEnded)) throw error
        // A transform has no side effects, so a run whose process ended can be repeated.
        if (attempt >= (error.wasActive ? maxAttemptsWhenActive[error.reason] : maxAttempts)) throw recordFailure(error)
      }
    }
  }

  function recordFailure({ reason, wasActive }: ChildEnded): TransformError {
    if (!wasActive)
      return new TransformError('busy', 'The sandbox was restarted several times during this run; try again later.')
    if (breaker.recordFailure()) log.error({ transform: module, reason }, `a transform ${disabled}`)
    return endError(module, reason)
  }

  function readRun(response: ChildResponse, { describePosition }: Version): TransformRun {
    const logs = readLogLines(response.logs)
    for (const [level, text] of logs) log[level]({ transform: module }, text)
    breaker.close()
    if (response.outcome !== 'ok') throw toTransformError(response, { module, exportName, describePosition, logs })
    try {
      return { result: readResult(response.body), logs, ms: response.micros / 1000 }
    } catch (error) {
      const { message } = error as Error
      throw new TransformError('bad_result', `The transform ${module} returned an invalid result: ${message}.`, {
        logs,
      })
    }
  }

  return {
    ready: refresh(),
    payloadSchema: () => version?.schema,
    state: () => ({
      module,
      export: exportName,
      state: breaker.isOpen() ? 'open' : version ? 'ready' : problem ? 'failed' : 'loading',
      ...(problem && { problem: problem.message }),
      ...(version && { loadedAt: version.loadedAt }),
    }),
    run,
    close() {
      isClosed = true
      watch.close()
      if (version) pool.remove(version.moduleId)
      version = undefined
    },
  }
}

/**
 * Attempts at a run that was still queued each time its process ended. Other transforms ended it, and their circuit
 * breakers limit how often they can.
 */
const maxAttempts = 20

/** Attempts at a run that was executing each time its process ended; a crash may have another cause. */
const maxAttemptsWhenActive = { timeout: 1, memory: 1, crash: 2, closed: 1 }

const disabled = 'was stopped three times in a row; it is disabled for a minute, or until its file changes'

const endings = {
  timeout: 'did not end within its time limit',
  memory: 'used too much memory',
  crash: 'ended its process',
  closed: 'was stopped',
}

const endError = (module: string, reason: ChildEnded['reason'], when = ''): TransformError =>
  new TransformError(reason === 'closed' ? 'crash' : reason, `The transform ${module} ${endings[reason]}${when}.`)

const compileError = (module: string, { message }: Error): TransformError =>
  new TransformError('compile', `The transform ${module} cannot be used: ${message}.`)
