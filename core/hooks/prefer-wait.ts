// `Prefer: wait=N`: the outcome of the runs that a request started, in its reply.
import type { Runs } from '../runs/runs.ts'
import type { RunStatus } from '../store/run-spec.ts'

interface Waiting {
  seconds: number
  /** The body of the reply with the outcome of its runs. */
  body: Promise<object>
}

/** `prefer`: the header of the request. Returns undefined if it asks for no wait, or if the request started no run. */
export function waitForRuns(runs: Pick<Runs, 'waitForEnd'>, body: object, prefer: string): Waiting | undefined {
  const seconds = parseWaitSeconds(prefer)
  const { runId, runIds } = body as { runId?: string; runIds?: readonly string[] }
  if (seconds === undefined || (runId === undefined && runIds === undefined)) return undefined
  const stateOf = async (id: string) => ({ runId: id, ...(await waitForRun(runs, id, seconds)) })
  const addOutcome = async (): Promise<object> =>
    runId === undefined
      ? { ...body, runs: await Promise.all((runIds ?? []).map(stateOf)) }
      : { ...body, ...(await stateOf(runId)) }
  return { seconds, body: addOutcome() }
}

const maxWaitSeconds = 300

/** Whole seconds, at most 300. Returns undefined for a header without a valid `wait`: RFC 7240 has it ignored. */
function parseWaitSeconds(prefer: string): number | undefined {
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
