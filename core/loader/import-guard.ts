// Keeps the import of a plugin from ending or blocking the process, and names a plugin that ends it later. During an
// endless loop no timer of this thread fires, so another thread watches.
import { AsyncLocalStorage } from 'node:async_hooks'
import { writeSync } from 'node:fs'
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { watchSideEffects } from './side-effects.ts'

export interface ImportGuard {
  /**
   * Runs the import of a plugin, and watches for a moment what it has started. Rejects if the plugin ends the process
   * or throws meanwhile, and names it if it blocks the process. `effects` are ends of sentences about what it did
   * besides.
   */
  run<T>(plugin: string, work: () => Promise<T>): Promise<{ result: T; effects: string[] }>
  /** Ends the watch for imports that block. */
  stopWatching(): void
  /** From now on, everybody may end the process. */
  close(): void
}

export interface GuardOptions {
  /** How long the process may be blocked. */
  limitMs: number
  /** Describes a call of `process.exit` and its place. */
  describe(call: Error): string
}

/** How long a plugin is watched after its import, if that did more than declare. */
const watchMs = 100

/** Until it is closed, a plugin that ends the process later is named, too. */
export function createImportGuard({ limitMs, describe }: GuardOptions): ImportGuard {
  const watcher = new Worker(watcherCode, { eval: true, execArgv: [], env: {}, workerData: limitMs })
  watcher.unref()
  /** The timers, promises and sockets that an import starts remember whose they are. */
  const imports = new AsyncLocalStorage<string>()
  let importing: { plugin: string; fail(error: unknown): void } | undefined
  const restoreExit = guardExit((call, code) => {
    const plugin = imports.getStore()
    if (plugin === undefined) return code
    if (plugin === importing?.plugin) {
      importing.fail(call)
      throw call
    }
    writeSync(2, `${describeEnd(plugin, describe(call))}\n`)
    // A plugin that ends the gateway must not look like a success.
    return 1
  })
  return {
    async run(plugin, work) {
      const failure = Promise.withResolvers<never>()
      failure.promise.catch(() => undefined)
      importing = { plugin, fail: failure.reject }
      watcher.postMessage(
        `The plugin ${JSON.stringify(plugin)} blocks the process while it is imported; it is interrupted.\n`,
      )
      const releaseErrors = captureErrors((error) => {
        if (imports.getStore() !== plugin) return false
        failure.reject(error)
        return true
      })
      const sideEffects = watchSideEffects(() => imports.getStore() === plugin)
      try {
        const result = await imports.run(plugin, () => Promise.race([work(), failure.promise]))
        // What the module has started begins in the next turn of the event loop.
        await immediate()
        const effects = sideEffects.list()
        if (effects.length > 0) await delay(watchMs)
        return await Promise.race([failure.promise, Promise.resolve({ result, effects })])
      } finally {
        watcher.postMessage(undefined)
        importing = undefined
        releaseErrors()
        sideEffects.end()
      }
    },
    stopWatching: () => void watcher.terminate(),
    close: restoreExit,
  }
}

/** @param decide returns the exit code, or throws to go on */
function guardExit(decide: (call: Error, code: ExitCode) => ExitCode): () => void {
  const { exit } = process
  let isOpen = true
  const guarded: typeof exit = (code) => {
    const call = new Error(`it called process.exit(${code ?? ''})`)
    // The place is that of the call.
    Error.captureStackTrace(call, guarded)
    return exit(isOpen ? decide(call, code) : code)
  }
  process.exit = guarded
  return () => {
    isOpen = false
    if (process.exit === guarded) process.exit = exit
  }
}

type ExitCode = Parameters<typeof process.exit>[0]

const describeEnd = (plugin: string, call: string): string =>
  `The plugin ${JSON.stringify(plugin)} ended the process after its import (${call}); ` +
  'fix it, or remove it from `plugins`.'

/**
 * An error that nobody catches would end the process. Other listeners are away meanwhile, and get what `take` leaves; a
 * capture callback would forbid the plugin to load the module `domain`.
 */
function captureErrors(take: (error: unknown) => boolean): () => void {
  const others = process.rawListeners('uncaughtException') as NodeJS.UncaughtExceptionListener[]
  let isOver = false
  const listener: NodeJS.UncaughtExceptionListener = (error, origin) => {
    if (!isOver && take(error)) return
    if (others.length === 0) throw error
    for (const other of others) other.call(process, error, origin)
  }
  process.removeAllListeners('uncaughtException')
  process.on('uncaughtException', listener)
  return () => {
    isOver = true
    // An import that began later has taken it away; when that puts it back, it only passes on.
    if (!process.rawListeners('uncaughtException').includes(listener)) return
    process.off('uncaughtException', listener)
    for (const other of others) process.on('uncaughtException', other)
  }
}

/** The plugin is named before the interruption, because Node ends if it interrupts a callback. */
const watcherCode = `
  const { writeSync } = require('node:fs')
  const { Session } = require('node:inspector')
  const { parentPort, workerData } = require('node:worker_threads')
  let timer
  const interrupt = (sentence) => {
    writeSync(2, sentence)
    const session = new Session()
    session.connectToMainThread()
    session.post('Runtime.terminateExecution', () => session.disconnect())
  }
  parentPort.on('message', (sentence) => {
    clearTimeout(timer)
    if (sentence !== undefined) timer = setTimeout(interrupt, workerData, sentence)
  })`
