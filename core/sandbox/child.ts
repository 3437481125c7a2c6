// One child process: it is asked, it answers in order, and it is killed when it makes no progress or takes too much.
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import {
  createFrameReader,
  type Frame,
  maxResultLength,
  type Outcome,
  outcomes,
  type RequestKind,
  requests,
  writeFrame,
} from './ipc-frames.ts'
import { openBlackBox, spawnRunner } from './process.ts'

export interface ChildLimits {
  /** Of V8's heap; beyond it the process aborts itself. */
  heapMb: number
  /** Of all memory that is really used; watched on Linux. */
  rssMb: number
}

export interface Request {
  kind: RequestKind
  number: number
  first: string | Uint8Array
  second: string
  /** How long the child may be at it. Waiting for its turn does not count. */
  timeoutMs: number
}

export interface Answer {
  outcome: Outcome
  micros: number
  logs: string
  body: string
}

export type EndReason = 'timeout' | 'memory' | 'crash' | 'closed'

/** The child ended before it had answered. `guilty`: this very request was at work. */
export class ChildEnded extends Error {
  readonly reason: EndReason
  readonly guilty: boolean

  constructor(reason: EndReason, guilty: boolean) {
    super(`The process ended: ${reason}.`)
    this.reason = reason
    this.guilty = guilty
  }
}

export interface Child {
  pid: number | undefined
  /** Requests without an answer. */
  waiting(): number
  ask(request: Request): Promise<Answer>
  /** Resolves when it has shut itself in, or has ended. */
  ready: Promise<void>
  /** Resolves when the process is gone. */
  ended: Promise<void>
  kill(reason?: EndReason): void
}

interface ChildOptions {
  /** The code of the child: it comes over standard input, so the child needs to read no file, and may not. */
  runner: string
  limits: ChildLimits
  /**
   * Called once, as soon as it is to end: from then on it can be asked nothing. Whoever waits for an answer hears of it
   * when the process is gone.
   */
  onEnd(reason: EndReason): void
}

export function startChild({ runner, limits, onEnd }: ChildOptions): Child {
  const box = openBlackBox()
  const { process, wire } = spawnRunner(runner, limits, box.fd)
  const ended = Promise.withResolvers<void>()
  const ready = Promise.withResolvers<void>()
  /** In the order of the answers. No Map: a busy one keeps what was in it from the garbage collector. */
  let pending: Pending[] = []
  let lastId = 0
  let progressAt = performance.now()
  let reason: EndReason | undefined
  let watch: NodeJS.Timeout | undefined
  let outbox: Frame[] = []

  pending.push({
    id: 0,
    askedAt: progressAt,
    timeoutMs: bootMs,
    resolve: () => ready.resolve(),
    reject: () => ready.resolve(),
  })
  keepWatch()
  const read = createFrameReader(maxAnswerBytes, settle)
  wire.on('data', (chunk: Buffer) => {
    progressAt = performance.now()
    try {
      read(chunk)
    } catch {
      kill('crash')
    }
  })
  wire.on('error', () => undefined)
  process.on('error', () => onExit('crash'))
  process.on('exit', (_code, signal) => onExit(signal === 'SIGABRT' ? 'memory' : 'crash'))

  function ask({ kind, number, first, second, timeoutMs }: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (reason !== undefined) return reject(new ChildEnded(reason, false))
      const id = ++lastId
      pending.push({ id, askedAt: performance.now(), timeoutMs, resolve, reject })
      keepWatch()
      // What is asked in one go is sent in one go.
      if (
        outbox.push({
          id,
          kind: requests.indexOf(kind),
          number,
          first: bytesOf(first),
          second: Buffer.from(second),
        }) === 1
      )
        setImmediate(send)
    })
  }

  function send(): void {
    wire.cork()
    for (const frame of outbox) writeFrame(frame, (part) => wire.write(part))
    wire.uncork()
    outbox = []
  }

  function settle({ id, kind, number, first, second }: Frame): void {
    const place = pending.findIndex((one) => one.id === id)
    const [request] = place < 0 ? [] : pending.splice(place, 1)
    request?.resolve({
      outcome: outcomes[kind] ?? 'threw',
      micros: number,
      logs: first.toString(),
      body: second.toString(),
    })
  }

  /** The time limit is kept here and not in the child, whose only thread is busy when it matters. */
  function keepWatch(): void {
    // When the gateway itself was held up, answers that lie ready are read before anybody is judged.
    watch ??= setInterval(() => void setImmediate(look), lookEveryMs).unref()
  }

  function look(): void {
    const working = box.read()
    const busy = pending.find(({ id }) => id === working) ?? pending[0]
    if (busy === undefined) {
      clearInterval(watch)
      watch = undefined
    } else if (performance.now() - Math.max(progressAt, busy.askedAt) > busy.timeoutMs) kill('timeout')
    else if (residentMb(process) > limits.rssMb) kill('memory')
  }

  function end(why: EndReason): EndReason {
    if (reason === undefined) {
      reason = why
      onEnd(why)
    }
    return reason
  }

  function kill(why: EndReason = 'closed'): void {
    end(why)
    process.kill('SIGKILL')
  }

  /** The black box tells who was at work; all others in the queue are innocent. */
  function onExit(how: EndReason): void {
    if (watch) clearInterval(watch)
    watch = undefined
    const why = end(how)
    const activeRequest = box.read()
    box.close()
    wire.destroy()
    for (const { id, reject } of pending) reject(new ChildEnded(why, id === activeRequest && why !== 'closed'))
    pending = []
    ended.resolve()
  }

  return { pid: process.pid, waiting: () => pending.length, ask, ready: ready.promise, ended: ended.promise, kill }
}

interface Pending {
  id: number
  askedAt: number
  timeoutMs: number
  resolve(answer: Answer): void
  reject(error: ChildEnded): void
}

const lookEveryMs = 25
const bootMs = 10_000
/** A result, its lines and some room: a character may take three bytes. */
const maxAnswerBytes = 3 * maxResultLength + 1_000_000

const bytesOf = (text: string | Uint8Array): Buffer =>
  typeof text === 'string' ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.byteLength)

/** Linux tells what a process really uses; elsewhere the limit of the heap stands alone. */
function residentMb({ pid }: ChildProcess): number {
  try {
    return readResidentMb(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return 0
  }
}

/** From `status`, which counts in KB: `statm` counts in pages, whose size differs from machine to machine. */
export const readResidentMb = (status: string): number => Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024
