// Inside a child: one request after another, from what was asked to what is answered.
import { Buffer } from 'node:buffer'
import { performance } from 'node:perf_hooks'
import { inWords, LoadError, type LoadedTransform, loadTransform } from './compartment.ts'
import {
  type Frame,
  type LogLine,
  maxLogLines,
  maxResultLength,
  type Outcome,
  outcomes,
  type RequestKind,
  type Thrown,
} from '../ipc-frames.ts'
import type { Position } from './stack-positions.ts'
import type { SharedGlobals } from './lockdown.ts'

interface RequestHandlerDeps {
  shared: SharedGlobals
  positionOf(error: unknown): Position
  answer(frame: Frame): void
}

interface Request {
  id: number
  kind: RequestKind | undefined
  number: number
  first: string
  second: string
}

interface Call {
  id: number
  startedAt: number
  micros: number
  lines: LogLine[]
  lost: number
  outcome: Outcome | undefined
  body: string
}

export interface RequestHandler {
  /** Starts with a request; what it returns may be a promise that is still to be kept. */
  begin(request: Request): void
  /**
   * Answers the request that was begun last. Nothing is left by now that could keep a promise: there are no timers
   * here, and no input.
   */
  conclude(): void
}

export function createRequestHandler({ shared, positionOf, answer }: RequestHandlerDeps): RequestHandler {
  const now = performance.now.bind(performance)
  const transforms = new Map<number, LoadedTransform>()
  let current: Call | undefined

  function settle(call: Call, outcome: Outcome, body: string): void {
    if (call.outcome !== undefined) return
    Object.assign(call, { outcome, body, micros: (now() - call.startedAt) * 1000 })
  }

  const fail = (call: Call, error: unknown, outcome: Outcome = 'threw'): void =>
    settle(call, outcome, JSON.stringify(describe(error, positionOf)))

  function log(line: LogLine): void {
    if (!current) return
    if (current.lines.length < maxLogLines) current.lines.push(line)
    else current.lost++
  }

  function load({ number, first, second }: Request, call: Call): void {
    try {
      const loaded = loadTransform({ code: second, exportName: first }, shared, log)
      transforms.set(number, loaded)
      settle(call, 'ok', loaded.schema)
    } catch (error) {
      fail(call, error, error instanceof LoadError ? error.outcome : 'compile')
    }
  }

  function run({ number, first, second }: Request, call: Call): void {
    const { transform, check } = transforms.get(number) ?? missing
    try {
      const payload = JSON.parse(first) as unknown
      if (check && !check.fits(payload))
        return settle(call, 'payload_mismatch', JSON.stringify(check.problems(payload).slice(0, 8)))
      const result = transform(freeze({ payload, ...(JSON.parse(second) as object) }))
      if (isPromiseLike(result)) {
        const kept = (value: unknown) => finish(call, value)
        void Promise.resolve(result)
          .then(kept)
          .catch((error: unknown) => fail(call, error))
      } else finish(call, result)
    } catch (error) {
      fail(call, error)
    }
  }

  function finish(call: Call, result: unknown): void {
    if (result === undefined) return settle(call, 'ok', '')
    if (typeof result !== 'object') return fail(call, `a ${typeof result} was returned`, 'bad_result')
    const text = JSON.stringify(result) as string | undefined
    if (text === undefined || text.length > maxResultLength)
      return fail(call, `the result is larger than ${maxResultLength} characters`, 'bad_result')
    settle(call, 'ok', text)
  }

  return {
    begin(request) {
      const call: Call = {
        id: request.id,
        startedAt: now(),
        micros: 0,
        lines: [],
        lost: 0,
        outcome: undefined,
        body: '',
      }
      current = call
      if (request.kind === 'load') load(request, call)
      else if (request.kind === 'run') run(request, call)
      else settle(call, 'ok', String(transforms.delete(request.number)))
    },
    conclude() {
      if (!current) return
      fail(current, 'the promise it returned can never be kept: a transform has nothing to wait for', 'bad_result')
      answer(toFrame(current))
      current = undefined
    },
  }
}

function toFrame({ id, outcome, micros, lines, lost, body }: Call): Frame {
  const all: LogLine[] = lost > 0 ? [...lines, ['warn', `${lost} more lines were left out`]] : lines
  return {
    id,
    kind: outcomes.indexOf(outcome ?? 'threw'),
    number: Math.min(Math.round(micros), 0xffff_ffff),
    first: all.length > 0 ? Buffer.from(JSON.stringify(all)) : Buffer.alloc(0),
    second: Buffer.from(body),
  }
}

const missing: LoadedTransform = {
  transform() {
    throw new Error('This transform is not loaded.')
  },
  schema: '',
  check: undefined,
}

function describe(error: unknown, positionOf: (error: unknown) => Position): Thrown {
  try {
    if (error instanceof Error)
      return { name: inWords(error.name), message: inWords(error.message), ...positionOf(error) }
  } catch {
    // Even looking at it throws: it is described like any other value.
  }
  return { name: typeof error, message: inWords(error), line: 0, column: 0 }
}

function isPromiseLike(value: unknown): boolean {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** JSON has no circles, so every object is met once. */
function freeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const inner of Object.values(value)) freeze(inner)
  return Object.freeze(value)
}
