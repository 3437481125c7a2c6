// One child process: sends it requests, receives its responses in order, and kills it when it exceeds its limits.
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import {
  createFrameReader,
  type Frame,
  maxResultLength,
  type Outcome,
  outcomes,
  type RequestKind,
  requestKinds,
  writeFrame,
} from '../ipc-frames.ts'
import { openActiveRequestFile, spawnRunner } from './spawn-process.ts'

export interface ChildLimits {
  /** Maximum size of V8's heap, in MB; beyond it the process aborts. */
  heapMb: number
  /** Maximum resident memory, in MB; checked on Linux. */
  rssMb: number
}

export interface ChildRequest {
  kind: RequestKind
  moduleId: number
  first: string | Uint8Array
  second: string
  /** How long the child may take to execute it. The time in the child's queue does not count. */
  timeoutMs: number
}

export interface ChildResponse {
  outcome: Outcome
  micros: number
  /** Log lines as JSON, or an empty string. */
  logs: string
  body: string
}

export type EndReason = 'timeout' | 'memory' | 'crash' | 'closed'

/** The child ended before it responded. `wasActive`: it was executing this very request, which is to blame. */
export class ChildEnded extends Error {
  readonly reason: EndReason
  readonly wasActive: boolean

  constructor(reason: EndReason, wasActive: boolean) {
    super(`The process ended: ${reason}.`)
    this.reason = reason
    this.wasActive = wasActive
  }
}

export interface Child {
  pid: number | undefined
  /** Number of requests without a response. */
  pendingCount(): number
  send(request: ChildRequest): Promise<ChildResponse>
  /** Resolves when the child is locked down, or has ended. */
  ready: Promise<void>
  /** Resolves when the process is gone. */
  ended: Promise<void>
  kill(reason?: EndReason): void
}

interface ChildOptions {
  /** Code of the child, sent over standard input because the child may not read files. */
  runner: string
  limits: ChildLimits
  /**
   * Called once, as soon as the child is bound to end. From then on `send` rejects. Requests that are pending reject
   * later, when the process is gone.
   */
  onEnd(reason: EndReason): void
}

export function startChild({ runner, limits, onEnd }: ChildOptions): Child {
  const activeRequest = openActiveRequestFile()
  const { process: childProcess, socket } = spawnRunner(runner, limits, activeRequest.fd)
  const ended = Promise.withResolvers<void>()
  const ready = Promise.withResolvers<void>()
  /** The oldest is first. Not a Map, for the garbage collector's sake: see `sent` in store/group-commit.ts. */
  const pending: PendingRequest[] = []
  let lastId = 0
  let progressAt = performance.now()
  let endReason: EndReason | undefined
  let watchdog: NodeJS.Timeout | undefined

  expectResponse(readyId, bootMs, { resolve: () => ready.resolve(), reject: () => ready.resolve() })
  const read = createFrameReader(maxResponseBytes, settle)
  socket.on('data', (chunk: Buffer) => {
    progressAt = performance.now()
    try {
      read(chunk)
    } catch {
      kill('crash')
    }
  })
  socket.on('error', () => undefined)
  childProcess.on('error', () => onExit('crash'))
  childProcess.on('exit', (_code, signal) => onExit(signal === 'SIGABRT' ? 'memory' : 'crash'))

  function expectResponse(id: number, timeoutMs: number, handlers: ResponseHandlers): void {
    pending.push({ id, sentAt: performance.now(), timeoutMs, ...handlers })
    // If the gateway itself was blocked, responses that have arrived are read before the limits are checked.
    watchdog ??= setInterval(() => void setImmediate(enforceLimits), checkEveryMs).unref()
  }

  function send({ kind, moduleId, first, second, timeoutMs }: ChildRequest): Promise<ChildResponse> {
    return new Promise((resolve, reject) => {
      if (endReason !== undefined) return reject(new ChildEnded(endReason, false))
      const id = ++lastId
      expectResponse(id, timeoutMs, { resolve, reject })
      const frame: Frame = {
        id,
        kind: requestKinds.indexOf(kind),
        number: moduleId,
        first: toBuffer(first),
        second: Buffer.from(second),
      }
      // One write for all requests of a turn of the event loop: a write per tick cost 9 µs of 90 per transform.
      socket.cork()
      writeFrame(frame, (part) => socket.write(part))
      setImmediate(() => socket.uncork())
    })
  }

  function settle({ id, kind, number, first, second }: Frame): void {
    const index = pending.findIndex((request) => request.id === id)
    if (index === -1) return
    pending.splice(index, 1)[0]?.resolve({
      outcome: outcomes[kind] ?? 'threw',
      micros: number,
      logs: first.toString(),
      body: second.toString(),
    })
  }

  /** Time limits are kept in the gateway, because the child's only thread is busy when one expires. */
  function enforceLimits(): void {
    const activeId = activeRequest.read()
    const active = pending.find(({ id }) => id === activeId) ?? pending[0]
    if (active === undefined) stopWatchdog()
    else if (performance.now() - Math.max(progressAt, active.sentAt) > active.timeoutMs) kill('timeout')
    else if (residentMb(childProcess) > limits.rssMb) kill('memory')
  }

  function stopWatchdog(): void {
    clearInterval(watchdog)
    watchdog = undefined
  }

  function end(reason: EndReason): EndReason {
    if (endReason === undefined) {
      endReason = reason
      onEnd(reason)
    }
    return endReason
  }

  function kill(reason: EndReason = 'closed'): void {
    end(reason)
    childProcess.kill('SIGKILL')
  }

  function onExit(exitReason: EndReason): void {
    stopWatchdog()
    const reason = end(exitReason)
    const activeId = activeRequest.read()
    activeRequest.close()
    socket.destroy()
    for (const { id, reject } of pending.splice(0))
      reject(new ChildEnded(reason, id === activeId && reason !== 'closed'))
    ended.resolve()
  }

  return {
    pid: childProcess.pid,
    pendingCount: () => pending.length,
    send,
    ready: ready.promise,
    ended: ended.promise,
    kill,
  }
}

interface PendingRequest extends ResponseHandlers {
  id: number
  sentAt: number
  timeoutMs: number
}

interface ResponseHandlers {
  resolve(response: ChildResponse): void
  reject(error: ChildEnded): void
}

/** Id of the frame that a child sends, unasked, once it is locked down. */
const readyId = 0
const checkEveryMs = 25
const bootMs = 10_000
/** A result, its log lines and some margin: a character may take three bytes. */
const maxResponseBytes = 3 * maxResultLength + 1_000_000

const toBuffer = (text: string | Uint8Array): Buffer =>
  typeof text === 'string' ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.byteLength)

/** 0 outside Linux, where only the heap limit applies. */
function residentMb({ pid }: ChildProcess): number {
  try {
    return readResidentMb(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return 0
  }
}

/** Reads `status`, which counts in KB; `statm` counts in pages, whose size differs between machines. */
export const readResidentMb = (status: string): number => Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) / 1024
