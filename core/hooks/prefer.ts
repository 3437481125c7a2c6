// Reads how long a caller wants to wait for the outcome, `Prefer: wait=N` (RFC 7240), and tells the outcome.
import type { Runs } from '../runs/runs.ts'
import type { RunStatus } from '../store/run-spec.ts'

const longestSeconds = 300

/**
 * Whole seconds to wait, at most 300; undefined when none are asked for. What is not understood is ignored, as the RFC
 * says.
 */
export function waitSeconds(prefer: string | undefined): number | undefined {
  if (!prefer) return undefined
  for (const preference of prefer.split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;.*)?$/i.exec(preference)?.[1]
    if (seconds !== undefined) return Math.min(Number(seconds), longestSeconds)
  }
  return undefined
}

export interface RunState {
  status: RunStatus
  reply?: string
  /** Why there is no reply, or why the last attempt failed. */
  error?: { type: string; message: string }
}

/** How far a run is when it has ended, or after so many seconds. */
export async function stateAfter(runs: Pick<Runs, 'ended'>, runId: string, seconds: number): Promise<RunState> {
  const run = await runs.ended(runId, seconds * 1000)
  const { reply, error } = run?.result ?? {}
  // What the service of a model said is for the record alone.
  return {
    status: run?.status ?? 'queued',
    ...(reply !== undefined && { reply }),
    ...(error && { error: { type: error.type, message: error.message } }),
  }
}
