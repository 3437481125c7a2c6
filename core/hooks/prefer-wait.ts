// The reply to an accepted request, with the outcome of its runs where the caller waits for it (`Prefer: wait=N`).
import type { Runs } from '../runs/runs.ts'
import type { RunStatus } from '../store/run-spec.ts'
import type { Dispatched } from './dispatch.ts'

export interface HookReply {
  body: object
  headers: Record<string, string>
}

/** `prefer`: the header of the request. A reply without runs does not wait. */
export async function createReply(
  runs: Pick<Runs, 'waitForEnd'>,
  { reply, replayed }: Dispatched<object>,
  prefer: string | undefined,
): Promise<HookReply> {
  const headers: Record<string, string> = replayed ? { 'idempotent-replayed': 'true' } : {}
  const seconds = prefer === undefined ? undefined : parseWaitSeconds(prefer)
  const { runId, runIds } = reply as { runId?: string; runIds?: readonly string[] }
  if (seconds === undefined || (runId === undefined && runIds === undefined)) return { body: reply, headers }
  const stateOf = async (id: string) => ({ runId: id, ...(await waitForRun(runs, id, seconds)) })
  const outcome = runId === undefined ? { runs: await Promise.all((runIds ?? []).map(stateOf)) } : await stateOf(runId)
  return { body: { ...reply, ...outcome }, headers: { ...headers, 'preference-applied': `wait=${seconds}` } }
}

const maxWaitSeconds = 300

/** Whole seconds, at most 300. Returns undefined for a header without a valid `wait`: RFC 7240 has it ignored. */
export function parseWaitSeconds(prefer: string): number | undefined {
  for (const preference of prefer.split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;.*)?$/i.exec(preference)?.[1]
    if (seconds !== undefined) return Math.min(Number(seconds), maxWaitSeconds)
  }
  return undefined
}

interface RunState {
  status: RunStatus
  reply?: string
  /** Why the run has no reply, or why its last attempt failed. */
  error?: { type: string; message: string }
}

/** The state of a run when it has ended or the time is over, whichever comes first. */
async function waitForRun(runs: Pick<Runs, 'waitForEnd'>, runId: string, seconds: number): Promise<RunState> {
  const run = await runs.waitForEnd(runId, seconds * 1000)
  const { reply, error } = run?.result ?? {}
  return {
    status: run?.status ?? 'queued',
    ...(reply !== undefined && { reply }),
    // `error.detail` quotes the model provider: it is for the record of the run only.
    ...(error && { error: { type: error.type, message: error.message } }),
  }
}
