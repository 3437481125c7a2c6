// One transform: from the file to its numbers in the children, anew whenever the file changes; the last good version
// stays in use.
import type { Log, TransformResult } from '../plugin.ts'
import type { JsonSchema } from '../typebox.ts'
import { faultOf, type DescribePosition, describePositionsIn, readLines } from './response.ts'
import { type Bundle, bundleTransform } from './bundle.ts'
import { type ChildResponse, ChildEnded } from './pool/child.ts'
import { type TransformsDirectory, fingerprint } from './transforms-directory.ts'
import type { LogLine } from './ipc-frames.ts'
import { readPayloadSchema } from './payload-schema.ts'
import type { Pool, RunRequest } from './pool.ts'
import type { ReadResult } from './result.ts'
import { TransformError } from './transform-error.ts'
import type { Watcher } from './watch.ts'
import { createCircuitBreaker } from './circuit-breaker.ts'

export interface TransformRun {
  /** `undefined`: no change; `null`: skip. */
  result: TransformResult
  logs: readonly LogLine[]
  /** Milliseconds in the child. */
  ms: number
}

export interface TransformState {
  module: string
  export: string
  /** `failed`: there is no version that could run. `off`: it was ended too often, and rests. */
  state: 'loading' | 'ready' | 'failed' | 'off'
  /** What is wrong with the file as it is now, also when an older version is still in use. */
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
  directory: TransformsDirectory
  pool: Pool
  watcher: Watcher
  readResult: ReadResult
  log: Log
}

interface Version {
  moduleId: number
  schema: JsonSchema | undefined
  describePosition: DescribePosition
  loadedAt: string
}

export function createTransform({
  module,
  exportName,
  directory,
  pool,
  watcher,
  readResult,
  log,
}: TransformDeps): Transform {
  const watch = watcher.watch(() => void refresh())
  const breaker = createCircuitBreaker()
  let version: Version | undefined
  let problem: TransformError | undefined
  let work: Promise<void> | undefined
  let stale = false
  let closed = false

  /** One compilation at a time; a change in the meantime causes another one. */
  function refresh(): Promise<void> {
    stale = true
    return (work ??= (async () => {
      while (stale && !closed) {
        stale = false
        await compile()
      }
      work = undefined
    })())
  }

  async function compile(): Promise<void> {
    const seen = new Map<string, string>()
    try {
      const bundle = await bundleTransform({
        module,
        directory,
        onFile: (path) => seen.set(path, seen.get(path) ?? fingerprint(path)),
      })
      const answer = await probe(bundle)
      if (!closed) put(bundle, answer)
    } catch (error) {
      refuse(
        error instanceof TransformError
          ? error
          : new TransformError('compile', `The transform ${module} cannot be used: ${(error as Error).message}.`),
      )
    }
    if (!closed) watch.follow(seen)
  }

  async function probe({ code, map }: Bundle): Promise<ChildResponse> {
    const answer = await pool.probe({ code, exportName }).catch((error: unknown) => {
      if (!(error instanceof ChildEnded)) throw error
      throw new TransformError(
        error.reason === 'closed' ? 'crash' : error.reason,
        `The transform ${module} ${endings[error.reason]} while it was loaded.`,
      )
    })
    if (answer.outcome !== 'ok')
      throw faultOf(answer, { module, exportName, describePosition: describePositionsIn(map) })
    return answer
  }

  function put(bundle: Bundle, { body }: ChildResponse): void {
    const schema = readPayloadSchema(body)
    const before = version
    version = {
      moduleId: pool.add({ code: bundle.code, exportName }),
      schema,
      describePosition: describePositionsIn(bundle.map),
      loadedAt: new Date().toISOString(),
    }
    if (before) pool.remove(before.moduleId)
    problem = undefined
    breaker.recordSuccess()
    log.info({ transform: module }, before ? 'transform reloaded' : 'transform loaded')
  }

  function refuse(error: TransformError): void {
    if (closed) return
    problem = error
    const reason = error.message
    if (version)
      log.warn({ transform: module, reason }, 'the new version of a transform cannot be used; the last good one stays')
    else
      log.error(
        { transform: module, reason },
        'a transform cannot be used; its hooks answer 500 until the file is mended',
      )
  }

  async function run(request: RunRequest): Promise<TransformRun> {
    if (!version && work) await work
    for (let attempt = 1; ; attempt++) {
      if (!version) throw problem ?? new TransformError('crash', `The transform ${module} is closed.`)
      if (breaker.isOpen())
        throw new TransformError(
          'disabled',
          `The transform ${module} had to be ended three times in a row; it rests for a minute, or until its file changes.`,
        )
      try {
        return conclude(await pool.run(version.moduleId, request), version)
      } catch (error) {
        if (!(error instanceof ChildEnded)) throw error
        // A transform only computes, so a call that was cut off can be made again: an innocent one, and once one whose
        // process ended for reasons unknown.
        if (attempt < (error.wasActive ? attemptsAfter[error.reason] : maxAttempts)) continue
        throw recordFailure(error)
      }
    }
  }

  function recordFailure({ reason, wasActive }: ChildEnded): TransformError {
    if (!wasActive)
      return new TransformError('busy', 'The sandbox ended several times during this call; try again later.')
    if (breaker.recordFailure())
      log.error(
        { transform: module, reason },
        'a transform had to be ended three times in a row; it rests for a minute, or until its file changes',
      )
    return new TransformError(reason === 'closed' ? 'crash' : reason, `The transform ${module} ${endings[reason]}.`)
  }

  function conclude(answer: ChildResponse, { describePosition }: Version): TransformRun {
    const logs = readLines(answer.logs)
    for (const [level, text] of logs) log[level]({ transform: module }, text)
    breaker.recordSuccess()
    if (answer.outcome !== 'ok') throw faultOf(answer, { module, exportName, describePosition, logs })
    try {
      return { result: readResult(answer.body), logs, ms: answer.micros / 1000 }
    } catch (error) {
      throw new TransformError(
        'bad_result',
        `The transform ${module} returned what no action may hold: ${(error as Error).message}.`,
        { logs },
      )
    }
  }

  return {
    ready: refresh(),
    payloadSchema: () => version?.schema,
    state: () => ({
      module,
      export: exportName,
      state: breaker.isOpen() ? 'off' : version ? 'ready' : problem ? 'failed' : 'loading',
      ...(problem && { problem: problem.message }),
      ...(version && { loadedAt: version.loadedAt }),
    }),
    run,
    close() {
      closed = true
      watch.close()
      if (version) pool.remove(version.moduleId)
      version = undefined
    },
  }
}

/** A call can be behind one that is ended several times; how often is bounded by the circuit breakers of the others. */
const maxAttempts = 20

const attemptsAfter = { timeout: 0, memory: 0, crash: 2, closed: 0 }

const endings = {
  timeout: 'did not end within its time limit',
  memory: 'took too much memory',
  crash: 'ended its process',
  closed: 'was stopped',
}
