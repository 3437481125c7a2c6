// The command `transform test`: runs a transform on a payload, as its hook would, and prints the result.
import { join } from 'node:path'
import { GatewayError } from '../../errors.ts'
import type { Trial, TrialRequest } from '../../hooks/trial.ts'
import type { LogLine } from '../../sandbox/ipc-frames.ts'
import { TransformError } from '../../sandbox/transform-error.ts'
import { parseHeader, readBytesOf } from '../../kit/command-input.ts'
import { printJson } from '../terminal.ts'
import { silentLog } from '../../loader/extension-log.ts'
import { readTransformConfig } from './read-config.ts'

interface TestOptions {
  payload: string
  header: string[]
  export: string
  now?: string
  config?: string
  json?: boolean
}

export async function testTransform({ module, ...options }: TestOptions & { module: string }): Promise<void> {
  const { config, dir, extensions } = await readTransformConfig(options.config)
  const [{ createSandbox }, { tryTransform }] = await Promise.all([
    import('../../sandbox/sandbox.ts'),
    import('../../hooks/trial.ts'),
  ])
  const sandbox = createSandbox({ root: join(dir, 'transforms'), dir: config.hooks.transformsDir, log: silentLog })
  try {
    const deps = { config, dir, extensions, sandbox, log: silentLog }
    const trial = await tryTransform(deps, createRequest(module, options))
    if (trial.error !== undefined) process.exitCode = 1
    if (options.json) printJson(toJson(trial))
    else show(trial)
  } finally {
    await sandbox.close()
  }
}

function show({ mapping, run, error }: Trial): void {
  showLines(run?.logs ?? [])
  if (run) {
    process.stderr.write(`${describeResult(run.result)} (${run.ms.toFixed(1)} ms)\n`)
    process.stdout.write(`${JSON.stringify(run.result ?? null, null, 2)}\n`)
  }
  if (mapping !== undefined) process.stderr.write(`It is tested as the mapping "${mapping}" uses it.\n`)
  if (error !== undefined) showError(error as Error)
}

/** With `ms` and without `result`, the transform returned nothing. Without both, it failed or was not called. */
function toJson({ mapping, run, error }: Trial): object {
  const logs = run?.logs ?? (error instanceof TransformError ? error.logs : [])
  return {
    ok: error === undefined,
    mapping,
    result: run?.result,
    ms: run?.ms,
    logs: logs.map(([level, text]) => ({ level, text })),
    ...(error !== undefined && { error: describeError(error as Error) }),
  }
}

function describeError(error: Error): object {
  const { message } = error
  if (!(error instanceof GatewayError)) return { message }
  const { code, status } = error
  return { code, status, message, ...(error instanceof TransformError && { detail: error.detail }) }
}

function showError(error: Error): void {
  if (error instanceof TransformError && error.status >= 500) {
    showLines(error.logs)
    // The payload belongs to the user, so the thrown error may be shown.
    const detail = error.detail && !error.message.includes(error.detail) ? [error.detail] : []
    process.stderr.write(`${[error.message, ...detail].join('\n')}\n`)
  } else if (error instanceof GatewayError) {
    process.stderr.write(`The hook would reject this with ${error.status} ${error.code}: ${error.message}\n`)
  } else process.stderr.write(`${error.message}\n`)
}

const createRequest = (
  module: string,
  { payload, header, export: exportName, now = new Date().toISOString() }: TestOptions,
): TrialRequest => ({
  module,
  exportName,
  body: readBytesOf('--payload', payload),
  headers: Object.fromEntries(header.map(parseHeader)),
  now,
})

function describeResult(result: unknown): string {
  if (result === undefined) return 'It returned nothing: the action of the mapping is used unchanged.'
  if (result === null) return 'It returned null: the request is skipped.'
  if (!Array.isArray(result)) return 'It returned fields of the action.'
  return `It returned ${result.length} action${result.length === 1 ? '' : 's'}.`
}

function showLines(lines: readonly LogLine[]): void {
  for (const [level, text] of lines) process.stderr.write(`${level}: ${text}\n`)
}
