// Executes the gateway's requests inside a child, one after another.
import { Buffer } from 'node:buffer'
import { performance } from 'node:perf_hooks'
import { formatValue, LoadError, type LoadedTransform, loadTransform } from './compartment.ts'
import {
  type Frame,
  type LogLine,
  maxLogLines,
  maxResultLength,
  type Outcome,
  outcomes,
  type Position,
  type RequestKind,
  type Thrown,
} from '../ipc-frames.ts'
import { readJson } from '../../json.ts'
import type { SharedGlobals } from './lockdown.ts'

interface RequestHandlerDeps {
  shared: SharedGlobals
  positionsOf(error: unknown): Position[]
  respond(frame: Frame): void
}

interface IpcRequest {
  id: number
  kind: RequestKind | undefined
  moduleId: number
  first: string
  second: string
}

interface Execution {
  id: number
  startedAt: number
  micros: number
  lines: LogLine[]
  droppedLines: number
  outcome: Outcome | undefined
  body: string
}

export interface RequestHandler {
  /** Starts executing a request. A transform may return a promise, which settles later. */
  begin(request: IpcRequest): void
  /**
   * Responds to the request that began last. A promise that has not settled by now never will, because a transform has
   * neither timers nor I/O.
   */
  conclude(): void
}

export function createRequestHandler({ shared, positionsOf, respond }: RequestHandlerDeps): RequestHandler {
  const now = performance.now.bind(performance)
  const transforms = new Map<number, LoadedTransform>()
  let current: Execution | undefined

  function settle(execution: Execution, outcome: Outcome, body: string): void {
    if (execution.outcome !== undefined) return
    Object.assign(execution, { outcome, body, micros: (now() - execution.startedAt) * 1000 })
  }

  const fail = (execution: Execution, error: unknown, outcome: Outcome = 'threw'): void =>
    settle(execution, outcome, JSON.stringify(describeThrown(error, positionsOf)))

  function log(line: LogLine): void {
    if (!current) return
    if (current.lines.length < maxLogLines) current.lines.push(line)
    else current.droppedLines++
  }

  function load({ moduleId, first, second }: IpcRequest, execution: Execution): void {
    try {
      const loaded = loadTransform({ code: second, exportName: first }, shared, log)
      transforms.set(moduleId, loaded)
      settle(execution, 'ok', loaded.schema)
    } catch (error) {
      fail(execution, error, error instanceof LoadError ? error.outcome : 'compile')
    }
  }

  function run({ moduleId, first, second }: IpcRequest, execution: Execution): void {
    const { transform, check } = transforms.get(moduleId) ?? notLoaded
    try {
      const payload = readJson(first)
      if (check && !check.fits(payload))
        return settle(execution, 'payload_mismatch', JSON.stringify(check.problems(payload).slice(0, 8)))
      const result = transform(deepFreeze({ payload, ...(JSON.parse(second) as object) }))
      if (isPromiseLike(result)) {
        const onResolved = (value: unknown) => finish(execution, value)
        void Promise.resolve(result)
          .then(onResolved)
          .catch((error: unknown) => fail(execution, error))
      } else finish(execution, result)
    } catch (error) {
      fail(execution, error)
    }
  }

  function finish(execution: Execution, result: unknown): void {
    if (result === undefined) return settle(execution, 'ok', '')
    if (typeof result !== 'object') return fail(execution, `it is a ${typeof result}`, 'bad_result')
    const text = JSON.stringify(result) as string | undefined
    if (text === undefined || text.length > maxResultLength)
      return fail(execution, `it is larger than ${maxResultLength} characters`, 'bad_result')
    settle(execution, 'ok', text)
  }

  return {
    begin(request) {
      const execution: Execution = {
        id: request.id,
        startedAt: now(),
        micros: 0,
        lines: [],
        droppedLines: 0,
        outcome: undefined,
        body: '',
      }
      current = execution
      if (request.kind === 'load') load(request, execution)
      else if (request.kind === 'run') run(request, execution)
      else settle(execution, 'ok', String(transforms.delete(request.moduleId)))
    },
    conclude() {
      if (!current) return
      fail(current, 'its promise never settles, because a transform has nothing to wait for', 'bad_result')
      respond(toFrame(current))
      current = undefined
    },
  }
}

function toFrame({ id, outcome, micros, lines, droppedLines, body }: Execution): Frame {
  const all: LogLine[] = droppedLines > 0 ? [...lines, ['warn', `${droppedLines} more lines were dropped`]] : lines
  return {
    id,
    kind: outcomes.indexOf(outcome ?? 'threw'),
    number: Math.min(Math.round(micros), 0xffff_ffff),
    first: all.length > 0 ? Buffer.from(JSON.stringify(all)) : Buffer.alloc(0),
    second: Buffer.from(body),
  }
}

const notLoaded: LoadedTransform = {
  transform() {
    throw new Error('The transform is not loaded.')
  },
  schema: '',
  check: undefined,
}

function describeThrown(error: unknown, positionsOf: (error: unknown) => Position[]): Thrown {
  try {
    if (error instanceof Error)
      return { name: formatValue(error.name), message: formatValue(error.message), positions: positionsOf(error) }
  } catch {
    // Reading a hostile error may throw: it is described like any other value.
  }
  return { name: typeof error, message: formatValue(error), positions: [] }
}

function isPromiseLike(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** Freezes a parsed JSON value, which has no cycles. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) deepFreeze(inner)
  return Object.freeze(value)
}
