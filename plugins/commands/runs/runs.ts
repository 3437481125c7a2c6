// Lists, shows, cancels and retries runs of the running gateway.
import { describeStep, formatUsd, type RunStep } from 'svc-gateway/kit'
import type { CommandContext, Terminal } from 'svc-gateway/plugin'
import { listTimeline, type TimedRun } from './timeline.ts'

type Context = CommandContext<'control'>

/** A run, as in the control API. */
interface Run extends TimedRun {
  id: string
  kind: string
  origin: { name: string; mapping?: string; stranger?: boolean }
  agentId: string
  sessionKey: string
  traceId?: string
  model?: string
  createdAt: string
  startedAt?: string
  nextAttemptAt?: string
  waitingFor?: string
  endedAt?: string
  usage?: Usage
  subagents?: Usage & { runs: number }
  retryOf?: string
  retriedAs?: string
  error?: { type: string; message: string; detail?: string }
  toolErrors?: readonly { tool: string; message: string }[]
  reply?: string
  provenance?: { explanation?: string }
}

interface Usage {
  totalTokens: number
  steps: number
  cost?: number
  unpricedSteps?: number
}

interface Filter {
  status?: string
  kind?: string
  hook?: string
  agent?: string
  session?: string
}

export async function listRuns(
  { status, kind, hook, agent, session, limit, json }: Filter & { limit: number; json?: boolean },
  { control, terminal }: Context,
): Promise<void> {
  const query = { status, kind, hook, agentId: agent, sessionKey: session }
  await terminal.printList(control.list<Run>('/api/runs', query), {
    noun: 'runs',
    limit,
    json,
    columns: {
      RUN: ({ id }) => id,
      CREATED: ({ createdAt }) => createdAt,
      STATUS: (run) => run.status,
      KIND: (run) => run.kind,
      ORIGIN: ({ origin }) => origin.name,
      SESSION: ({ sessionKey }) => sessionKey,
      ERROR: ({ error }) => error && `${error.type}: ${error.message}`,
    },
  })
}

interface One {
  id: string
  json?: boolean
}

export async function showRun(
  { id, steps: isWhole, json }: One & { steps?: boolean | undefined },
  { control, terminal }: Context,
): Promise<void> {
  const path = `/runs/${encodeURIComponent(id)}`
  const run = await control.get<Run>(path)
  const steps: RunStep[] = []
  for await (const step of control.list<RunStep>(`${path}/steps`)) steps.push(step)
  if (json) return terminal.printJson({ ...run, steps })
  const { origin, error, usage, subagents, toolErrors = [], reply, provenance } = run
  terminal.printFields({
    run: run.id,
    status: run.status,
    kind: run.kind,
    origin: [origin.name, origin.mapping && `mapping ${origin.mapping}`, origin.stranger && 'a stranger']
      .filter(Boolean)
      .join(', '),
    agent: run.agentId,
    session: run.sessionKey,
    trace: run.traceId,
    model: run.model,
    created: run.createdAt,
    started: run.startedAt,
    'next attempt': run.nextAttemptAt,
    'waiting for': run.waitingFor && `the budget ${run.waitingFor}`,
    ended: run.endedAt,
    tokens: usage && `${usage.totalTokens} in ${countOf(usage.steps, 'model call')}`,
    cost: usage && describeCost(usage),
    subagents: subagents && describeSubagents(run),
    'retry of': run.retryOf,
    'retried as': run.retriedAs,
    narrowed: provenance?.explanation,
    error: error && [`${error.type}: ${error.message}`, error.detail].filter(Boolean).join(' '),
    'tool error': toolErrors.map(({ tool, message }) => `${tool}: ${message}`),
  })
  terminal.print('')
  if (isWhole) printSteps(steps, terminal)
  else await terminal.printList(listTimeline(run, steps), { noun: 'steps', columns: timeline })
  if (reply !== undefined) terminal.print(`\n${reply}`)
}

const countOf = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

function describeCost({ cost, steps, unpricedSteps = 0 }: Usage): string {
  if (cost === undefined) return 'unknown, because the model has no price'
  const known = formatUsd(cost)
  return unpricedSteps === 0 ? known : `${known}, without ${unpricedSteps} of ${steps} calls, whose price is not known`
}

function describeSubagents({ usage, subagents: used }: Run): string | undefined {
  if (!used) return undefined
  const tokens = `${used.totalTokens} tokens in ${countOf(used.runs, 'run')}`
  if (used.cost === undefined) return tokens
  const total = usage?.cost === undefined ? '' : `; ${formatUsd(usage.cost + used.cost)} with this run`
  return `${tokens}, ${formatUsd(used.cost)}${total}`
}

const timeline = {
  STEP: ([what = '']: readonly string[]) => what,
  TIME: ([, time = '']: readonly string[]) => time,
  DETAILS: ([, , details = '']: readonly string[]) => details,
}

/** Each step with all that is kept of it. */
function printSteps(steps: readonly RunStep[], terminal: Terminal): void {
  for (const step of steps) {
    const [what = '', time = '', details = ''] = describeStep(step)
    terminal.printRow([String(step.number), what, time, details])
    for (const [name, value] of Object.entries({ args: step.args, result: step.result, text: step.text }))
      if (value !== undefined && value !== '')
        terminal.print(`${name}: ${typeof value === 'string' ? value : JSON.stringify(value, null, 2)}`)
    terminal.print('')
  }
}

export const cancelRun = (input: One, context: Context): Promise<void> =>
  change(input, context, { action: 'cancel', describe: (id) => `The run ${id} was cancelled.` })

export const retryRun = (input: One, context: Context): Promise<void> =>
  change(input, context, { action: 'retry', describe: (id) => `Retried as the run ${id}.` })

async function change(
  { id, json }: One,
  { control, terminal }: Context,
  { action, describe }: { action: string; describe(id: string): string },
): Promise<void> {
  const answer = await control.post<{ runId: string }>(`/api/runs/${encodeURIComponent(id)}/${action}`, {})
  if (json) terminal.printJson(answer)
  else terminal.print(describe(answer.runId))
}
