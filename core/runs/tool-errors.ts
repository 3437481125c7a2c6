// Collects what the tools of a run throw, for the record of the run.
import { describeThrown } from '../errors.ts'
import type { RunResult, ToolError } from '../store/run-spec.ts'
import type { StoredRun } from '../store/store.ts'

export interface ToolErrors {
  add(tool: string, error: unknown): void
  result(): Pick<RunResult, 'toolErrors'>
}

/** An agent can call a faulty tool many times. */
const maxErrors = 20

/** Continues with the errors of earlier attempts. */
export function createToolErrors({ result }: StoredRun, redact: (text: string) => string): ToolErrors {
  const errors: ToolError[] = [...(result.toolErrors ?? [])]
  return {
    add(tool, error) {
      const { reason, cause } = describeThrown(error)
      const message = redact(cause === undefined ? reason : `${reason}; ${cause}`)
      if (errors.length < maxErrors) errors.push({ tool, message })
    },
    result: () => (errors.length > 0 ? { toolErrors: errors } : {}),
  }
}
