// `Prefer: wait=N`: the outcome of the runs that a request started, in its reply.
import type { Runs } from '../runs/runs.ts'
import { joinTurn } from '../store/provenance.ts'
import type { RunStatus } from '../store/run-spec.ts'
import type { StoredRun } from '../store/store.ts'

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
export function parseWaitSeconds(prefer: string | readonly string[] = ''): number | undefined {
  for (const preference of prefer.toString().split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;.*)?$/i.exec(preference)?.[1]
    if (seconds !== undefined) return Math.min(Number(seconds), maxWaitSeconds)
  }
  return undefined
}

interface RunState {
  status: RunStatus
  reply?: string
  /** Why there is no reply, or why the last attempt failed. */
  error?: { type: string; message: string }
}

/** The state of a run when it has ended or the time is over, whichever comes first. */
async function waitForRun(runs: Pick<Runs, 'waitForEnd'>, runId: string, seconds: number): Promise<RunState> {
  const run = await runs.waitForEnd(runId, seconds * 1000)
  const { reply, error } = run?.result ?? {}
  if (run && reply !== undefined && !mayReplyToSender(run)) return { status: run.status, error: withheldReply }
  return {
    status: run?.status ?? 'queued',
    ...(reply !== undefined && { reply }),
    // `error.detail` quotes the model provider: it is for the record of the run only.
    ...(error && { error: { type: error.type, message: error.message } }),
  }
}

/** What a sender reads is a way out: text from outside must not bring private text there. */
const mayReplyToSender = ({ spec: { origin }, result: { provenance } }: StoredRun): boolean =>
  origin.repliesToSender === true || provenance === undefined || !joinTurn(provenance).isPrivate

const withheldReply = {
  type: 'reply_withheld',
  message:
    'The run has read private data, so its reply is not sent to the sender of the webhook. The operator can allow it ' +
    'with replyToSender.',
}
