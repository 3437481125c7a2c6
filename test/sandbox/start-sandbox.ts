// Starts a sandbox in a temporary folder, for tests.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Log } from '../../core/plugin/plugin.ts'
import {
  createSandbox,
  type Sandbox,
  type SandboxOptions,
  type UnparsedInput,
  type TransformHandle,
} from '../../core/sandbox/sandbox.ts'
import type { TransformRun } from '../../core/sandbox/transform.ts'
import { TransformError } from '../../core/sandbox/transform-error.ts'
import { closeAtEnd, share } from '../share.ts'

export interface Line {
  level: string
  fields: Record<string, unknown>
  message: string
}

export interface TestSandbox {
  sandbox: Sandbox
  /** The configuration directory; `dir` is its transforms directory. */
  home: string
  dir: string
  lines: Line[]
  write(path: string, text: string): void
}

/** It is closed when the test ends, or the block that shares it. */
export function startSandbox(files: Record<string, string> = {}, options: Partial<SandboxOptions> = {}): TestSandbox {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'svc-gateway-sandbox-')))
  const dir = join(home, 'transforms')
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), text)
  }
  mkdirSync(dir)
  for (const [path, text] of Object.entries(files)) write(path, text)
  const { log, lines } = recordingLog()
  // While many other tests run, a module takes longer to load.
  const sandbox = createSandbox({ root: dir, dir, log, loadMs: 10_000, ...options })
  closeAtEnd(async () => {
    await sandbox.close()
    rmSync(home, { recursive: true, force: true })
  })
  return { sandbox, home, dir, lines, write }
}

/** Starts one sandbox for all tests of a block, and loads the default export of all files once. */
export const shareSandbox = (
  files: Record<string, string> = {},
  options: Partial<SandboxOptions> = {},
): (() => TestSandbox) =>
  share(async () => {
    const started = startSandbox(files, options)
    await Promise.all(Object.keys(files).map((file) => started.sandbox.load(file).ready))
    return started
  })

function recordingLog(): { log: Log; lines: Line[] } {
  const lines: Line[] = []
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, fields: { ...fields }, message })
  return { log: { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }, lines }
}

export const callWith = (payload: unknown): UnparsedInput => ({
  payload: JSON.stringify(payload),
  headers: { 'x-event': 'push' },
  query: { page: '2' },
  path: 'shop/orders',
  now: '2026-03-01T12:00:00.000Z',
  mapping: { id: 'orders' },
})

export const run = (handle: TransformHandle, payload: unknown = {}): Promise<TransformRun> =>
  handle.run(callWith(payload))

/** The error with which a run fails. */
export async function faultOf(failing: Promise<unknown>): Promise<TransformError> {
  try {
    await failing
  } catch (error) {
    if (error instanceof TransformError) return error
    throw error
  }
  throw new Error('the run did not fail')
}
