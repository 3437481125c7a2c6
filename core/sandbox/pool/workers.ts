// The workers of a pool: children that serve requests, one on standby, and those that drain before they are replaced.
import { createOutage } from '../../outage.ts'
import type { Log } from '../../plugin/plugin.ts'
import type { Child, ChildResponse } from './child.ts'
import { createRestartBackoff } from './restart-backoff.ts'
import type { Spawner } from './spawner.ts'

export interface Workers {
  /** Starts the workers, unless some are serving or a restart is scheduled. */
  start(): void
  /** The children that serve requests. */
  serving(): Child[]
  /** The same and the one on standby: every child that must know all modules. */
  loaded(): Child[]
  /** Call it after each response: resets the restart backoff and replaces the worker when it is worn out. */
  recordResponse(worker: Child, response: ChildResponse): void
  /** Call it when a request has settled: kills a draining worker that has nothing left to do. */
  releaseDrained(worker: Child): void
  close(): void
}

interface WorkersDeps {
  /** How many children serve at the same time. */
  processes: number
  spawner: Spawner
  /** Prepares a new worker, for example by loading modules. */
  onStart(worker: Child): void
  log: Log
}

export function createWorkers({ processes, spawner, onStart, log }: WorkersDeps): Workers {
  const serving = new Set<Child>()
  /** They still respond to what they were sent, and are sent nothing more. */
  const draining = new Set<Child>()
  let standby: Child | undefined
  let isClosed = false
  const backoff = createRestartBackoff()
  const isWornOut = createWearMeter()
  const outage = createOutage(log, {
    failed: 'a sandbox process cannot be started; it is tried again',
    worked: 'sandbox processes can be started again',
  })

  /** Undefined when the system has no processes or descriptors left, which may pass. */
  function spawn(): Child | undefined {
    try {
      const worker = spawner.spawn(onEnd)
      onStart(worker)
      outage.worked()
      return worker
    } catch (error) {
      outage.failed(error)
      backoff.recordFailedStart()
      backoff.schedule(fill)
      return undefined
    }
  }

  function onEnd(worker: Child, reason: string): void {
    draining.delete(worker)
    const served = serving.delete(worker)
    if (worker === standby) standby = undefined
    else if (!served) return
    if (isClosed) return
    backoff.recordEnd()
    log.warn({ pid: worker.pid, reason, served }, 'a sandbox process ended')
    if (served) promoteStandby()
    backoff.schedule(fill)
  }

  function promoteStandby(): void {
    if (standby) serving.add(standby)
    standby = undefined
  }

  /** The standby starts after the others are ready, so that it does not slow down their start. */
  function fill(): void {
    backoff.cancel()
    if (isClosed) return
    while (serving.size < processes) {
      const worker = spawn()
      if (!worker) return
      serving.add(worker)
    }
    void Promise.all([...serving].map(({ ready }) => ready)).then(() => {
      if (!isClosed && !backoff.isPaused()) standby ??= spawn()
    })
  }

  function recycle(worker: Child): void {
    if (!serving.delete(worker)) return
    draining.add(worker)
    promoteStandby()
    backoff.schedule(fill)
  }

  return {
    start() {
      if (serving.size === 0 && !backoff.isPaused()) fill()
    },
    serving: () => [...serving],
    loaded: () => (standby ? [...serving, standby] : [...serving]),
    recordResponse(worker, response) {
      backoff.recordResponse()
      if (isWornOut(worker, response)) recycle(worker)
    },
    releaseDrained(worker) {
      if (worker.pendingCount() === 0 && draining.delete(worker)) worker.kill()
    },
    close() {
      isClosed = true
      backoff.cancel()
    },
  }
}

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
