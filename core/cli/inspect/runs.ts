// The command `runs`: lists runs, shows one, cancels one, and retries a failed one.
import type { Run } from '../../control/runs.ts'
import { type ControlOptions, openControl } from '../control-client.ts'
import { escapeForTerminal } from '../escape-for-terminal.ts'
import { listPages } from './list-pages.ts'
import { type ListOptions, printFields, printList } from './output.ts'

interface RunFilter {
  status?: string
  kind?: string
  hook?: string
  agent?: string
  session?: string
}

type RunsOptions = ControlOptions & ListOptions & RunFilter

export async function listRuns({ status, kind, hook, agent, session, ...options }: RunsOptions): Promise<void> {
  const query = { status, kind, hook, agentId: agent, sessionKey: session }
  await printList(listPages<Run>(openControl(options), '/api/runs', query), options, {
    noun: 'runs',
    columns: [
      { title: 'RUN', text: ({ id }) => id },
      { title: 'CREATED', text: ({ createdAt }) => createdAt },
      { title: 'STATUS', text: (run) => run.status },
      { title: 'KIND', text: (run) => run.kind },
      { title: 'ORIGIN', text: ({ origin }) => origin.name },
      { title: 'SESSION', text: ({ sessionKey }) => sessionKey },
      { title: 'ERROR', text: ({ error }) => (error ? `${error.type}: ${error.message}` : '') },
    ],
  })
}

type OneOptions = ControlOptions & { json?: boolean }

export async function showRun(id: string, { json, ...options }: OneOptions): Promise<void> {
  const run = (await openControl(options).get(`/runs/${encodeURIComponent(id)}`)) as Run
  if (json) return void process.stdout.write(`${JSON.stringify(run)}\n`)
  const { origin, error, usage, deliveries, toolErrors = [], reply } = run
  printFields({
    run: run.id,
    status: run.status,
    kind: run.kind,
    origin: [origin.name, origin.mapping && `mapping ${origin.mapping}`].filter(Boolean).join(', '),
    agent: run.agentId,
    session: run.sessionKey,
    trace: run.traceId,
    model: run.model,
    created: run.createdAt,
    started: run.startedAt,
    'next attempt': run.nextAttemptAt,
    ended: run.endedAt,
    tokens: usage && `${usage.totalTokens} in ${usage.steps} model call${usage.steps === 1 ? '' : 's'}`,
    'retry of': run.retryOf,
    'retried as': run.retriedAs,
    error: error && [`${error.type}: ${error.message}`, error.detail].filter(Boolean).join(' '),
    'tool error': toolErrors.map(({ tool, message }) => `${tool}: ${message}`),
    delivery: deliveries.map(({ channel, to, status, reason }) =>
      [`${status} to ${to} on ${channel}`, reason].filter(Boolean).join(': '),
    ),
  })
  if (reply !== undefined) process.stdout.write(`\n${escapeForTerminal(reply)}\n`)
}

export async function cancelRun(id: string, { json, ...options }: OneOptions): Promise<void> {
  const answer = (await openControl(options).post(`/api/runs/${encodeURIComponent(id)}/cancel`, {})) as Changed
  process.stdout.write(json ? `${JSON.stringify(answer)}\n` : `The run ${answer.runId} was cancelled.\n`)
}

export async function retryRun(id: string, { json, ...options }: OneOptions): Promise<void> {
  const answer = (await openControl(options).post(`/api/runs/${encodeURIComponent(id)}/retry`, {})) as Changed
  process.stdout.write(json ? `${JSON.stringify(answer)}\n` : `Retried as the run ${answer.runId}.\n`)
}

interface Changed {
  runId: string
}
