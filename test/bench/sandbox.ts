// Measures the call of a transform, and provides a transform for the webhook benchmark.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSandbox, type Sandbox, type TransformHandle } from '../../core/sandbox/sandbox.ts'

export interface SandboxRow {
  /** The number of concurrent calls. */
  callers: number
  perSecond: number
  p50Us: number
  p99Us: number
  /** User and system time per call, of the gateway's process and of the child, in microseconds. */
  hostUs: number
  childUs: number
}

/** A transform for a webhook with the body `{"text":"$"}`: a schema, some work, one action. */
export const benchTransform = {
  file: 'measure.ts',
  code: `import { type Static, type TransformInput, type TransformResult, Type } from 'svc-gateway/transform'
export const payload = Type.Object({ text: Type.String({ minLength: 1 }) })
export default ({ payload }: TransformInput<Static<typeof payload>>): TransformResult => ({
  message: payload.text.toUpperCase(),
  name: 'measure',
})
`,
}

/** Writes the transform into the configuration directory. @returns The value of `transform.module`. */
export function writeBenchTransform(dir: string): string {
  mkdirSync(join(dir, 'transforms'), { recursive: true })
  writeFileSync(join(dir, 'transforms', benchTransform.file), benchTransform.code)
  return benchTransform.file
}

export async function measureSandbox({ bytes = 2048, callers = [1, 16], seconds = 1.5 } = {}): Promise<SandboxRow[]> {
  const dir = mkdtempSync(join(tmpdir(), 'svc-gateway-bench-sandbox-'))
  const module = writeBenchTransform(dir)
  const sandbox = createSandbox({
    root: join(dir, 'transforms'),
    dir: join(dir, 'transforms'),
    log: { debug() {}, info() {}, warn() {}, error() {} },
  })
  try {
    const handle = sandbox.load(module)
    await measure({ sandbox, handle, bytes, callers: 16, seconds: 1 })
    const rows: SandboxRow[] = []
    for (const count of callers) rows.push(await measure({ sandbox, handle, bytes, callers: count, seconds }))
    return rows
  } finally {
    await sandbox.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

interface Round {
  sandbox: Sandbox
  handle: TransformHandle
  bytes: number
  callers: number
  seconds: number
}

async function measure({ sandbox, handle, bytes, callers, seconds }: Round): Promise<SandboxRow> {
  const micros: number[] = []
  const before = cpuMicros(sandbox)
  const begun = performance.now()
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      while (performance.now() - begun < seconds * 1000) {
        const at = performance.now()
        const payload = JSON.stringify({ text: `${caller}:${micros.length}`.padEnd(bytes - 11, 'x') })
        await handle.run({
          payload,
          headers: { 'user-agent': 'bench' },
          query: {},
          path: 'measure',
          now: '2026-01-01T00:00:00.000Z',
          mapping: {},
        })
        micros.push((performance.now() - at) * 1000)
      }
    }),
  )
  const [host, child] = cpuMicros(sandbox).map((now, index) => now - (before[index] ?? 0))
  const sorted = micros.toSorted((a, b) => a - b)
  const at = (share: number): number => Math.round(sorted[Math.floor(sorted.length * share)] ?? Number.NaN)
  const each = (total = Number.NaN): number => Math.round((total / micros.length) * 10) / 10
  return {
    callers,
    perSecond: Math.round(micros.length / ((performance.now() - begun) / 1000)),
    p50Us: at(0.5),
    p99Us: at(0.99),
    hostUs: each(host),
    childUs: each(child),
  }
}

function cpuMicros(sandbox: Sandbox): [host: number, child: number] {
  const { user, system } = process.cpuUsage()
  const children = sandbox.status().processes.map(({ pid }) => ticksOf(pid))
  return [user + system, children.reduce((total, ticks) => total + ticks * 10_000, 0)]
}

/** The kernel counts in hundredths of a second. Works only on Linux. */
function ticksOf(pid: number | undefined): number {
  if (process.platform !== 'linux' || pid === undefined) return Number.NaN
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return Number(fields[11]) + Number(fields[12])
}

/** To print the cost, run: node --conditions=svc-gateway-source test/bench/sandbox.ts */
if (import.meta.main) {
  for (const bytes of [2048, 65_536]) {
    process.stdout.write(`${bytes} bytes\n`)
    for (const row of await measureSandbox({ bytes })) process.stdout.write(`  ${JSON.stringify(row)}\n`)
  }
}
