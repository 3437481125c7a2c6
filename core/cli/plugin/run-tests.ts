// Runs the tests of a plugin's package for `plugin check --test`, and reads which shared suites they ran.
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onInterrupt } from '../interrupt.ts'
import { readRuns, reportVariable, type SuiteRun } from './suite-report.ts'

export interface TestRun {
  passed: boolean
  /** What `npm test` has printed. */
  output: string
  suites: readonly SuiteRun[]
}

/** How long the tests may take. */
const testMs = 10 * 60_000

export async function runTests(folder: string, { limitMs = testMs }: { limitMs?: number } = {}): Promise<TestRun> {
  const reports = await mkdtemp(join(tmpdir(), 'svc-gateway-suites-'))
  try {
    const file = join(reports, 'suites.jsonl')
    const { code, output } = await runNpmTest(folder, { env: { [reportVariable]: file }, limitMs })
    return { passed: code === 0, output, suites: readRuns(file) }
  } finally {
    await rm(reports, { recursive: true, force: true })
  }
}

interface NpmTest {
  env: Readonly<Record<string, string>>
  limitMs: number
}

/** In a process group of its own, so that nothing that the tests have started outlives them. */
async function runNpmTest(folder: string, { env, limitMs }: NpmTest): Promise<{ code: number | null; output: string }> {
  const npm = spawn('npm', ['test'], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const ended = Promise.withResolvers<number | null>()
  npm.once('error', ended.reject).once('close', ended.resolve)
  let output = ''
  for (const stream of [npm.stdout, npm.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  const kill = (): void => void (npm.pid !== undefined && process.kill(-npm.pid, 'SIGKILL'))
  using _interrupt = onInterrupt(kill)
  const timer = setTimeout(() => {
    output += `\nThe tests did not end within ${limitMs / 1000} s.\n`
    kill()
  }, limitMs)
  try {
    return { code: await ended.promise, output }
  } finally {
    clearTimeout(timer)
  }
}
