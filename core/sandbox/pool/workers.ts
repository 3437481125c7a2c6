// The workers of a pool: a child that serves requests, one on standby, and those that drain before they are replaced.
// They start when they are needed, and end when no request has come for a while.
import { createOutage } from '../../outage.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { Child, ChildResponse, EndReason } from './child.ts'

export interface Workers {
  /** The child that serves. */
  current(): Child | undefined
  /** The child that serves; it is started if there is none. Undefined when no process can be started for now. */
  serve(): Child | undefined
  /** Call it after each response: resets the restart backoff, and replaces the worker when it is worn out. */
  recordResponse(worker: Child, response: ChildResponse): void
  /** Call it when a request has settled. */
  release(worker: Child): void
  /** Kills all workers. */
  close(): Promise<void>
}

interface WorkersDeps {
  start(onEnd: (reason: EndReason) => void): Child
  /** How long a worker may be without requests. */
  idleMs: number
  log: Log
}

export function createWorkers({ start, idleMs, log }: WorkersDeps): Workers {
  /** All whose process is not gone yet. */
  const running = new Set<Child>()
  /** They still respond to what they were sent, and are sent nothing more. */
  const draining = new Set<Child>()
  let serving: Child | undefined
  let standby: Child | undefined
  let idleTimer: NodeJS.Timeout | undefined
  let isClosed = false
  const backoff = createRestartBackoff()
  const isWornOut = createWearMeter()
  const outage = createOutage(log, {
    failed: 'a sandbox process cannot be started; it is tried again',
    worked: 'sandbox processes can be started again',
  })

  /** Undefined when the system has no processes or descriptors left, which may pass. */
  function spawn(): Child | undefined {
    if (isClosed || backoff.isPaused()) return undefined
    try {
      const worker: Child = start((reason) => onEnd(worker, reason))
      running.add(worker)
      void worker.ended.then(() => running.delete(worker))
      outage.worked()
      return worker
    } catch (error) {
      outage.failed(error)
      backoff.recordFailedStart()
      backoff.schedule(startStandby)
      return undefined
    }
  }

  function onEnd(worker: Child, reason: EndReason): void {
    draining.delete(worker)
    const served = worker === serving
    if (!served && worker !== standby) return
    backoff.recordEnd()
    log.warn({ pid: worker.pid, reason, served }, 'a sandbox process ended')
    if (served) serving = standby
    standby = undefined
    backoff.schedule(startStandby)
  }

  function startStandby(): void {
    if (serving) standby ??= spawn()
  }

  function startServing(): Child | undefined {
    const worker = spawn()
    // Later, so that it does not slow down the start of this one.
    void worker?.ready.then(startStandby)
    return worker
  }

  function endIdle(): void {
    if (serving && serving.pendingCount() > 0) return
    const idle = [serving, standby]
    serving = standby = undefined
    for (const worker of idle) worker?.kill()
  }

  return {
    current: () => serving,
    serve: () => (serving ??= startServing()),
    recordResponse(worker, response) {
      backoff.recordResponse()
      if (!isWornOut(worker, response) || worker !== serving) return
      draining.add(worker)
      serving = standby
      standby = undefined
      startStandby()
    },
    release(worker) {
      if (worker.pendingCount() === 0 && draining.delete(worker)) worker.kill()
      idleTimer = idleTimer?.refresh() ?? setTimeout(endIdle, idleMs).unref()
    },
    async close() {
      isClosed = true
      clearTimeout(idleTimer)
      backoff.cancel()
      serving = standby = undefined
      const ends = [...running].map(({ ended }) => ended)
      for (const worker of running) worker.kill()
      await Promise.all(ends)
    },
  }
}

/** Pauses the start of workers that end again and again without a response in between. */
function createRestartBackoff() {
  let ends = 0
  let pause: NodeJS.Timeout | undefined

  function cancel(): void {
    clearTimeout(pause)
    pause = undefined
  }

  return {
    recordEnd: () => void ends++,
    /** After a failed start the next attempt always waits. */
    recordFailedStart: () => void (ends = Math.max(ends, immediateRestarts) + 1),
    recordResponse: () => void (ends = 0),
    /** Calls `start` at once after the first few ends, later after a pause that doubles with each end. */
    schedule(start: () => void): void {
      const resume = (): void => {
        cancel()
        start()
      }
      if (ends <= immediateRestarts) resume()
      else pause ??= setTimeout(resume, Math.min(longestPauseMs, 100 * 2 ** (ends - immediateRestarts))).unref()
    },
    isPaused: () => pause !== undefined,
    cancel,
  }
}

const immediateRestarts = 4
const longestPauseMs = 30_000

/**
 * Whether a worker has worked so long, or overflowed its stack so often, that it must be replaced. Each overflow can
 * interrupt code of the sandbox itself.
 */
function createWearMeter(): (worker: Child, response: ChildResponse) => boolean {
  /** From 0 (new) to 1 (worn out). */
  const wearOf = new WeakMap<Child, number>()
  return (worker, { outcome, micros, body }) => {
    const overflows = outcome === 'threw' && body.startsWith('{"name":"RangeError"') ? 1 : 0
    const wear = (wearOf.get(worker) ?? 0) + micros / maxBusyMicros + overflows / maxOverflows
    wearOf.set(worker, wear)
    return wear >= 1
  }
}

const maxBusyMicros = 300_000_000
const maxOverflows = 100
