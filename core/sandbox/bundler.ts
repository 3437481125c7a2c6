// Bundles transforms in a process of its own: the bundler takes hundreds of MB, which only the end of a process frees.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { extname, resolve } from 'node:path'
import { fingerprint } from '../config/file/watch.ts'
import { shareProcess } from './share-process.ts'
import type { TransformFault } from './transform-error.ts'

export interface Bundle {
  code: string
  /** The source map, as JSON text. */
  map: string
}

export interface BundleRequest {
  root: string
  dir: string
  module: string
}

export type BundleReply = ({ bundle: Bundle } | { fault: TransformFault; message: string }) & {
  /** The files that the bundle depends on, including missing files, with their fingerprints. */
  seen: [path: string, fingerprint: string][]
}

export interface Bundler {
  /** Never rejects: the files of a bundle that failed are watched, too. */
  bundle(module: string): Promise<BundleReply>
  close(): Promise<void>
}

export function createBundler(directory: { root: string; dir: string }): Bundler {
  const shared = shareProcess({ start: startProcess, end: endProcess })
  return {
    async bundle(module) {
      const path = resolve(directory.dir, module)
      const before = fingerprint(path)
      try {
        return await shared.run((process) => request(process, { ...directory, module }))
      } catch {
        const message = `The transform ${module} cannot be used: its compiler was stopped, or could not be started.`
        return { fault: 'compile', message, seen: [[path, before]] }
      }
    },
    close: shared.close,
  }
}

interface BundlerProcess {
  child: ChildProcess
  ended: Promise<unknown>
}

function startProcess(): BundlerProcess {
  const program = new URL(`./bundle${extname(import.meta.filename)}`, import.meta.url)
  const child = fork(program, { env: {}, execArgv: [], cwd: tmpdir(), stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  child.on('error', () => undefined)
  // Without an id it could not be started, and never exits.
  const ended = child.pid === undefined ? Promise.resolve() : new Promise((resolve) => child.once('exit', resolve))
  return { child, ended }
}

async function endProcess({ child, ended }: BundlerProcess): Promise<void> {
  child.kill('SIGKILL')
  await ended
}

async function request({ child, ended }: BundlerProcess, message: BundleRequest): Promise<BundleReply> {
  const timer = setTimeout(() => child.kill('SIGKILL'), bundleMs)
  try {
    const failed = ended.then(() => Promise.reject(new Error('The process of the bundler ended.')))
    const reply = once(child, 'message') as Promise<[BundleReply]>
    child.send(message)
    return (await Promise.race([reply, failed]))[0]
  } finally {
    clearTimeout(timer)
  }
}

/** The largest transforms take about a second. */
const bundleMs = 30_000
