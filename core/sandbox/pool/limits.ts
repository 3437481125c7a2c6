// The limits of one child process: how long it may execute a request, and how much memory it may use.
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

export interface ChildLimits {
  /** Maximum size of V8's heap, in MB; beyond it the process aborts. */
  heapMb: number
  /** Maximum resident memory, in MB; checked on Linux. */
  rssMb: number
}

/** The request that a child is executing. */
interface ActiveRequest {
  id: number
  timeoutMs: number
}

interface WatchedChild {
  childProcess: ChildProcess
  rssMb: number
  /** Undefined if the child has nothing to do. */
  findActive(): ActiveRequest | undefined
  /** Called once. `blamedId` is undefined if it is not known which request exceeded the limit. */
  onExceeded(limit: 'timeout' | 'memory', blamedId: ActiveRequest['id'] | undefined): void
}

export interface LimitWatch {
  /** Starts watching, until the child has nothing to do. */
  start(): void
  stop(): void
}

const checkEveryMs = 25

/** Time limits are kept in the gateway, because the child's only thread is busy when one expires. */
export function watchLimits({ childProcess, rssMb, findActive, onExceeded }: WatchedChild): LimitWatch {
  let timer: NodeJS.Timeout | undefined
  /** When the request that is executed was first seen. Responses come in batches and do not tell when the next began. */
  let seen: { id: number; at: number } | undefined

  function check(): void {
    const active = findActive()
    const before = seen
    if (active?.id !== before?.id) see(active)
    if (active && seen && performance.now() - seen.at > active.timeoutMs) return exceed('timeout', active.id)
    // The memory that is in use when a request is first seen may have been left by those before it.
    if (residentMb(childProcess) > rssMb) return exceed('memory', seen === before ? active?.id : undefined)
    if (!active) stop()
  }

  function see(active: ActiveRequest | undefined): void {
    seen = active && { id: active.id, at: performance.now() }
  }

  function exceed(...exceeded: Parameters<WatchedChild['onExceeded']>): void {
    stop()
    onExceeded(...exceeded)
  }

  function start(): void {
    if (timer) return
    // A child has nothing to do only while it is below the limits.
    see(findActive())
    // If the gateway itself was blocked, responses that have arrived are read before the limits are checked.
    timer = setInterval(() => void setImmediate(check), checkEveryMs).unref()
  }

  function stop(): void {
    clearInterval(timer)
    timer = undefined
  }

  return { start, stop }
}

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
