// One child process: sends it requests, receives its responses in order, and kills it when it exceeds its limits.
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
import { type ChildLimits, watchLimits } from './limits.ts'
import { openActiveRequestFile, spawnRunner } from './spawn-process.ts'

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
  let endReason: EndReason | undefined
  /** Set when a limit is exceeded. Until the process is gone, it may begin the next request, which is not to blame. */
  let exceeded: { blamedId: number | undefined } | undefined
  const watch = watchLimits({
    childProcess,
    rssMb: limits.rssMb,
    findActive,
    onExceeded(limit, blamedId) {
      exceeded = { blamedId }
      kill(limit)
    },
  })

  expectResponse(readyId, bootMs, { resolve: () => ready.resolve(), reject: () => ready.resolve() })
  const read = createFrameReader(maxResponseBytes, settle)
  socket.on('data', (chunk: Buffer) => {
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
    pending.push({ id, timeoutMs, ...handlers })
    watch.start()
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

  function findActive() {
    const activeId = activeRequest.read()
    return pending.find(({ id }) => id === activeId) ?? pending[0]
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
    watch.stop()
    const reason = end(exitReason)
    const blamedId = exceeded ? exceeded.blamedId : activeRequest.read()
    activeRequest.close()
    socket.destroy()
    for (const { id, reject } of pending.splice(0))
      reject(new ChildEnded(reason, id === blamedId && reason !== 'closed'))
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
  timeoutMs: number
}

interface ResponseHandlers {
  resolve(response: ChildResponse): void
  reject(error: ChildEnded): void
}

/** Id of the frame that a child sends, unasked, once it is locked down. */
const readyId = 0
const bootMs = 10_000
/** A result, its log lines and some margin: a character may take three bytes. */
const maxResponseBytes = 3 * maxResultLength + 1_000_000

const toBuffer = (text: string | Uint8Array): Buffer =>
  typeof text === 'string' ? Buffer.from(text) : Buffer.from(text.buffer, text.byteOffset, text.byteLength)
