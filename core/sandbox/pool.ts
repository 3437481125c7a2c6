// The children: one that serves (or several), one that stands by, one for a moment to try what is new. None before the
// first transform.
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin.ts'
import { type Answer, type Child, ChildEnded, type ChildLimits, startChild } from './child.ts'
import { TransformError } from './transform-error.ts'

export interface PoolOptions extends ChildLimits {
  /** Children that serve at the same time. */
  processes: number
  /** Calls that may wait in one child; and how many bytes of payload in all. */
  maxWaiting: number
  maxWaitingBytes: number
  /** Time to evaluate a module. */
  loadMs: number
  readRunner(): Promise<string>
  log: Log
}

export interface Source {
  code: string
  exportName: string
}

export interface Run {
  payload: string | Uint8Array
  /** The rest of the input, as JSON text. */
  rest: string
  timeoutMs: number
}

export interface Pool {
  /** Evaluates it in a child of its own, where it can harm nobody. */
  probe(source: Source): Promise<Answer>
  /** Loads it in every child, now and later. @returns its number */
  add(source: Source): number
  drop(number: number): void
  /** One attempt; rejects with `ChildEnded` when the child ends first. */
  run(number: number, run: Run): Promise<Answer>
  status(): { pid: number | undefined; waiting: number }[]
  close(): Promise<void>
}

export function createPool(options: PoolOptions): Pool {
  const { processes, maxWaiting, maxWaitingBytes, loadMs, log } = options
  const sources = new Map<number, Source>()
  const serving = new Set<Child>()
  const all = new Set<Child>()
  /** Children that still answer what they were asked, and are asked nothing more. */
  const retired = new Set<Child>()
  /** From 0, new, to 1, worn out. */
  const wearOf = new WeakMap<Child, number>()
  let standby: Child | undefined
  let runner: string | undefined
  let refill: NodeJS.Timeout | undefined
  let lastNumber = 0
  let waitingBytes = 0
  let deathsInARow = 0
  let closed = false
  let probes: Promise<unknown> = Promise.resolve()
  let probing = 0
  let prober: Child | undefined
  const outage = createOutage(log, {
    failed: 'a sandbox process cannot be started; it is tried again',
    worked: 'sandbox processes can be started again',
  })

  async function readCode(): Promise<string> {
    runner ??= await options.readRunner()
    if (closed) throw new ChildEnded('closed', false)
    return runner
  }

  function spawn(code: string): Child {
    const child = startChild({ runner: code, limits: options, onEnd: (reason) => onEnd(child, reason) })
    all.add(child)
    void child.ended.then(() => all.delete(child))
    return child
  }

  /** A child with all that is loaded; none where this machine has no processes or descriptors left, which may pass. */
  function spawnServing(code: string): Child | undefined {
    try {
      const child = spawn(code)
      for (const [number, source] of sources) load(child, number, source)
      outage.worked()
      return child
    } catch (error) {
      outage.failed(error)
      deathsInARow = Math.max(deathsInARow, quickRestarts) + 1
      replace()
      return undefined
    }
  }

  /**
   * Requests are served in order, so nobody has to wait for this. A module that is guilty of the end of its child is
   * never loaded again.
   */
  function load(child: Child, number: number, { code, exportName }: Source): void {
    child.ask({ kind: 'load', number, first: exportName, second: code, timeoutMs: loadMs }).catch((error: unknown) => {
      if (error instanceof ChildEnded && error.guilty) sources.delete(number)
    })
  }

  function onEnd(child: Child, reason: string): void {
    retired.delete(child)
    const served = serving.delete(child)
    if (child === standby) standby = undefined
    else if (!served) return
    if (closed) return
    deathsInARow++
    log.warn({ pid: child.pid, reason, served }, 'a sandbox process ended')
    if (served) promote()
    replace()
  }

  function promote(): void {
    if (standby) serving.add(standby)
    standby = undefined
  }

  /** What dies again and again without an answer in between is started more and more rarely. */
  function replace(): void {
    if (runner === undefined) return
    if (deathsInARow <= quickRestarts) fill(runner)
    else
      refill ??= setTimeout(fill, Math.min(longestPauseMs, 100 * 2 ** (deathsInARow - quickRestarts)), runner).unref()
  }

  /** The stand-by comes when the others are up, so that a start is not shared between two. */
  function fill(code: string): void {
    clearTimeout(refill)
    refill = undefined
    if (closed) return
    while (serving.size < processes) {
      const child = spawnServing(code)
      if (!child) return
      serving.add(child)
    }
    void Promise.all([...serving].map(({ ready }) => ready)).then(() => {
      if (!closed && refill === undefined) standby ??= spawnServing(code)
    })
  }

  /**
   * A child that has worked for long is replaced in good order. So is one that had to stand many overflows of the
   * stack, each of which can break off code of the sandbox itself half-way.
   */
  function wear(child: Child, { outcome, micros, body }: Answer): void {
    const overflows = outcome === 'threw' && body.startsWith('{"name":"RangeError"') ? 1 : 0
    const worn = (wearOf.get(child) ?? 0) + micros / maxBusyMicros + overflows / maxOverflows
    wearOf.set(child, worn)
    if (worn < 1 || !serving.delete(child)) return
    retired.add(child)
    promote()
    replace()
  }

  function releaseRetired(child: Child): void {
    if (child.waiting() === 0 && retired.delete(child)) child.kill()
  }

  /** The one with the shortest queue. */
  function pick(): Child {
    const [child] = [...serving].toSorted((a, b) => a.waiting() - b.waiting())
    if (child && child.waiting() < maxWaiting && waitingBytes < maxWaitingBytes) return child
    throw new TransformError(
      'busy',
      child
        ? 'Too many calls of transforms are waiting; try again later.'
        : 'The sandbox is starting again; try again later.',
    )
  }

  /** The same child tries all that wait for it, unless one of them ends it. */
  async function evaluate({ code, exportName }: Source): Promise<Answer> {
    try {
      prober ??= spawn(await readCode())
      await prober.ready
      return await prober.ask({ kind: 'load', number: 0, first: exportName, second: code, timeoutMs: loadMs })
    } catch (error) {
      prober = undefined
      throw error
    } finally {
      probing--
      if (probing === 0) {
        prober?.kill()
        prober = undefined
      }
    }
  }

  return {
    // One at a time: a machine that starts has more to do.
    probe: (source) => {
      probing++
      const probed = probes.then(() => evaluate(source))
      probes = probed.catch(() => undefined)
      return probed
    },
    add(source) {
      const number = ++lastNumber
      sources.set(number, source)
      for (const child of standby ? [...serving, standby] : serving) load(child, number, source)
      if (serving.size === 0 && refill === undefined && runner !== undefined) fill(runner)
      return number
    },
    drop(number) {
      sources.delete(number)
      for (const child of standby ? [...serving, standby] : serving) {
        child.ask({ kind: 'drop', number, first: '', second: '', timeoutMs: loadMs }).catch(() => undefined)
      }
    },
    async run(number, { payload, rest, timeoutMs }) {
      const child = pick()
      waitingBytes += payload.length
      try {
        const answer = await child.ask({ kind: 'run', number, first: payload, second: rest, timeoutMs })
        deathsInARow = 0
        wear(child, answer)
        return answer
      } finally {
        waitingBytes -= payload.length
        releaseRetired(child)
      }
    },
    status: () => [...serving].map((child) => ({ pid: child.pid, waiting: child.waiting() })),
    async close() {
      closed = true
      clearTimeout(refill)
      const ends = [...all].map(({ ended }) => ended)
      for (const child of all) child.kill()
      await Promise.all(ends)
    },
  }
}

const maxBusyMicros = 300_000_000
const maxOverflows = 100
const quickRestarts = 4
const longestPauseMs = 30_000
