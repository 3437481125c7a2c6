// One child process: it is asked, it answers in order, and it is killed when it makes no progress or takes too much.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, readSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFrameReader, type Frame, maxResultLength, type Outcome, outcomes, type RequestKind, requests, writeFrame } from './frames.ts'

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
  /** Called once, as soon as it is to end: from then on it can be asked nothing. Whoever waits for an answer hears of it when the process is gone. */
  onEnd(reason: EndReason): void
}

export function startChild({ runner, limits, onEnd }: ChildOptions): Child {
  const box = openBlackBox()
  const { process, wire } = spawnRunner(runner, limits, box.fd)
  const ended = Promise.withResolvers<void>()
  const ready = Promise.withResolvers<void>()
  const pending = new Map<number, Pending>()
  let lastId = 0
  let progressAt = performance.now()
  let reason: EndReason | undefined
  let watch: NodeJS.Timeout | undefined
  let outbox: Frame[] = []

  pending.set(0, { askedAt: progressAt, timeoutMs: bootMs, resolve: () => ready.resolve(), reject: () => ready.resolve() })
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
  process.on('error', () => bury('crash'))
  process.on('exit', (_code, signal) => bury(signal === 'SIGABRT' ? 'memory' : 'crash'))

  function ask({ kind, number, first, second, timeoutMs }: Request): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (reason !== undefined) return reject(new ChildEnded(reason, false))
      const id = ++lastId
      pending.set(id, { askedAt: performance.now(), timeoutMs, resolve, reject })
      keepWatch()
      // What is asked in one go is sent in one go.
      if (outbox.push({ id, kind: requests.indexOf(kind), number, first: bytesOf(first), second: Buffer.from(second) }) === 1) setImmediate(send)
    })
  }

  function send(): void {
    wire.cork()
    for (const frame of outbox) writeFrame(frame, (part) => wire.write(part))
    wire.uncork()
    outbox = []
  }

  function settle({ id, kind, number, first, second }: Frame): void {
    const request = pending.get(id)
    pending.delete(id)
    request?.resolve({ outcome: outcomes[kind] ?? 'threw', micros: number, logs: first.toString(), body: second.toString() })
  }

  /** The time limit is kept here and not in the child, whose only thread is busy when it matters. */
  function keepWatch(): void {
    watch ??= setInterval(look, lookEveryMs).unref()
  }

  function look(): void {
    const [first] = pending.values()
    const busy = pending.get(box.read()) ?? first
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
  function bury(how: EndReason): void {
    if (watch) clearInterval(watch)
    watch = undefined
    const why = end(how)
    const culprit = box.read()
    box.close()
    wire.destroy()
    for (const [id, request] of pending) request.reject(new ChildEnded(why, id === culprit && why !== 'closed'))
    pending.clear()
    ended.resolve()
  }

  return { pid: process.pid, waiting: () => pending.size, ask, ready: ready.promise, ended: ended.promise, kill }
}

interface Pending {
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

/** No permission at all; the limits of V8; code from standard input. */
export const nodeFlags = ({ heapMb }: Pick<ChildLimits, 'heapMb'>): string[] => [
  '--no-warnings',
  '--permission',
  '--disable-proto=delete',
  `--max-old-space-size=${heapMb}`,
  '--max-semi-space-size=4',
  '--stack-size=800',
  '--input-type=module',
  '-',
]

function spawnRunner(runner: string, limits: ChildLimits, box: number): { process: ChildProcess; wire: Socket } {
  const [command, args] = withSystemLimits(globalThis.process.execPath, nodeFlags(limits))
  const process = spawn(command, args, { env: {}, cwd: tmpdir(), stdio: ['pipe', 'ignore', 'ignore', 'pipe', box] })
  // A process that could not be started has an error to tell, and perhaps no streams.
  process.stdin?.on('error', () => undefined).end(runner)
  return { process, wire: process.stdio[3] as Socket }
}

/** Processor time after which the kernel ends a child. The gateway replaces it long before; this is for a child that loops while its gateway dies. */
const maxCpuSeconds = 900

/** Where there is a shell, it sets what Node cannot. Without core dumps no payload is left on the disk. */
function withSystemLimits(node: string, flags: string[]): [command: string, args: string[]] {
  const shell = '/bin/sh'
  if (!existsSync(shell)) return [node, flags]
  return [shell, ['-c', `ulimit -c 0; ulimit -t ${maxCpuSeconds}; exec "$0" "$@"`, node, ...flags]]
}

/** A file without a name, which the child writes the id of its work into and only the gateway reads. */
function openBlackBox(): { fd: number; read(): number; close(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-box-'))
  const fd = openSync(join(folder, 'box'), 'wx+', 0o600)
  rmSync(folder, { recursive: true })
  const bytes = Buffer.alloc(4)
  let open = true
  return {
    fd,
    read: () => (open && readSync(fd, bytes, 0, 4, 0) === 4 ? bytes.readUInt32LE() : 0),
    close: () => {
      if (open) closeSync(fd)
      open = false
    },
  }
}

/** Linux tells what a process really uses; elsewhere the limit of the heap stands alone. */
function residentMb({ pid }: ChildProcess): number {
  try {
    return (Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]) * 4096) / 1_048_576
  } catch {
    return 0
  }
}
