// The endpoints that list, show, cancel and retry runs.
import type { Runs } from '../runs/runs.ts'
import { viewRun } from '../runs/run-view.ts'
import { viewStep } from '../runs/step-view.ts'
import { GatewayError } from '../errors.ts'
import { failures } from '../http/failure.ts'
import { runKinds, runStatuses } from '../store/run-spec.ts'
import { stepStatuses } from '../store/store.ts'
import type { ListedRun, Store, StoredRun } from '../store/store.ts'
import { type Static, Type } from '../typebox.ts'
import { type Endpoint, endpoint, found } from './endpoint.ts'
import { IdParams, pageOf, pageQuery, pageRequest, Time, viewPage } from './lists.ts'

interface RunsDeps {
  store: Pick<Store, 'getRun' | 'listRuns' | 'listRunDeliveries' | 'listSteps'>
  runs: Pick<Runs, 'cancel' | 'retry'>
}

export function runEndpoints({ store, runs }: RunsDeps): Endpoint[] {
  const findRun = async (id: string): Promise<StoredRun> => found(await store.getRun(id), 'run_not_found')
  const view = async (run: ListedRun) => viewRun(run, await store.listRunDeliveries(run.id))

  return [
    endpoint({
      method: 'GET',
      path: '/runs/:id',
      schema: { summary: 'Returns a run.', params: IdParams, response: { 200: Run, ...failures(404) } },
      handle: async ({ params }) => await view(await findRun(params.id)),
    }),
    endpoint({
      method: 'GET',
      path: '/runs/:id/steps',
      schema: {
        summary: 'Lists the steps of a run, in their order.',
        params: IdParams,
        querystring: Type.Object(pageQuery),
        response: { 200: pageOf(Step), ...failures(404) },
      },
      handle: async ({ params, query }) => {
        const { id } = await findRun(params.id)
        const { before: after, limit } = pageRequest(query)
        return viewPage(await store.listSteps(id, { after, limit }), viewStep)
      },
    }),
    endpoint({
      method: 'GET',
      path: '/api/runs',
      schema: { summary: 'Lists runs.', querystring: RunsQuery, response: { 200: pageOf(Run) } },
      handle: async ({ query }) => {
        const { items, next } = await store.listRuns(query, pageRequest(query))
        return { items: await Promise.all(items.map(view)), ...(next !== undefined && { next: String(next) }) }
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/runs/:id/cancel',
      schema: {
        summary: 'Cancels a run that is queued or running.',
        params: IdParams,
        response: { 200: Cancelled, ...failures(404, 409) },
      },
      handle: async ({ params: { id } }) => {
        if (await runs.cancel(id)) return { ok: true, runId: id }
        const { status } = await findRun(id)
        throw new GatewayError('conflict', `The run has already ended: its status is ${status}.`)
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/runs/:id/retry',
      schema: {
        summary: 'Retries a failed run as a new run.',
        params: IdParams,
        response: { 200: Retried, ...failures(404, 409) },
      },
      handle: async ({ params }) => {
        const { id, sessionKey, status, result } = await findRun(params.id)
        const failed = status === 'failed' || status === 'timed_out'
        if (!failed)
          throw new GatewayError('conflict', `Only a failed run can be retried; the status of this one is ${status}.`)
        const retriedAs = await runs.retry(id)
        if (retriedAs !== undefined) return { ok: true, runId: retriedAs, sessionKey, retryOf: id }
        const { retriedAs: other } = (await store.getRun(id))?.result ?? result
        throw new GatewayError(
          'conflict',
          `The run was already retried as ${other}; check that run, and retry it if it failed.`,
        )
      },
    }),
  ]
}

const RunsQuery = Type.Object({
  ...pageQuery,
  status: Type.Optional(Type.Enum([...runStatuses])),
  kind: Type.Optional(Type.Enum([...runKinds])),
  hook: Type.Optional(Type.String({ description: 'Only runs of this hook: `agent`, or the name of a mapped hook.' })),
  agentId: Type.Optional(Type.String()),
  sessionKey: Type.Optional(Type.String({ description: 'The full key, `agent:<agent>:<key>`.' })),
})

const Cancelled = Type.Object({ ok: Type.Literal(true), runId: Type.String() })

const Retried = Type.Object({
  ok: Type.Literal(true),
  runId: Type.String(),
  sessionKey: Type.String(),
  retryOf: Type.String(),
})

const Delivery = Type.Object({
  id: Type.String(),
  channel: Type.String(),
  to: Type.String(),
  status: Type.Enum(['pending', 'sent', 'failed', 'unknown', 'skipped']),
  reason: Type.Optional(Type.String()),
})

const tokenCounts = {
  inputTokens: Type.Integer(),
  outputTokens: Type.Integer(),
  cachedInputTokens: Type.Integer(),
  reasoningTokens: Type.Integer(),
  totalTokens: Type.Integer(),
}

const Step = Type.Object({
  number: Type.Integer({ description: 'From 1, in the order of the run.' }),
  attempt: Type.Integer({ description: 'The attempt that made it, from 1.' }),
  kind: Type.Enum(['model', 'tool']),
  status: Type.Enum([...stepStatuses], {
    description:
      '`refused`: the policy did not allow the call. `interrupted`: the gateway ended during the call, which may have ' +
      'taken effect.',
  }),
  startedAt: Time(),
  endedAt: Type.Optional(Time()),
  model: Type.Optional(Type.String({ description: '`<provider>/<model>`.' })),
  firstTokenMs: Type.Optional(
    Type.Integer({ description: 'Milliseconds from the start of the call to the first part of the answer.' }),
  ),
  finishReason: Type.Optional(Type.String()),
  responseModel: Type.Optional(Type.String({ description: 'The model that answered, as its service names it.' })),
  usage: Type.Optional(Type.Object(tokenCounts)),
  text: Type.Optional(Type.String({ description: 'What the model wrote.' })),
  tool: Type.Optional(Type.String()),
  args: Type.Optional(
    Type.Unknown({ description: 'The arguments of the call. Longer ones than 64 KiB are a text that is cut.' }),
  ),
  effects: Type.Optional(
    Type.Union([Type.Array(Type.Enum(['reads-private', 'sends'])), Type.Literal('by-call')], {
      description: 'What the tool does.',
    }),
  ),
  verdict: Type.Optional(Type.Enum(['allow', 'deny'], { description: 'What the policy says of the call.' })),
  rule: Type.Optional(
    Type.String({ description: 'The rule that gave the verdict. Absent: no rule restricts the tool.' }),
  ),
  result: Type.Optional(
    Type.Unknown({ description: 'What the model reads. A longer result than 64 KiB is a text that is cut.' }),
  ),
  resultLength: Type.Optional(Type.Integer({ description: 'The length of the whole result, in characters of JSON.' })),
  error: Type.Optional(
    Type.String({ description: 'What the model reads instead of a result, or why its call failed.' }),
  ),
  thrown: Type.Optional(Type.String({ description: 'What the tool threw. The agent reads none of it.' })),
})

/** The schema of a run. */
export const Run = Type.Object({
  id: Type.String(),
  traceId: Type.Optional(Type.String({ description: 'The id of its trace, if traces were on when it was accepted.' })),
  kind: Type.Enum([...runKinds], { description: 'What started the run.' }),
  agentId: Type.String(),
  sessionKey: Type.String(),
  model: Type.Optional(
    Type.String({ description: 'The model that executed the run. Before that, the requested model, if any.' }),
  ),
  status: Type.Enum([...runStatuses], { description: 'The last four statuses are final.' }),
  origin: Type.Object(
    {
      kind: Type.Enum([...runKinds]),
      name: Type.String(),
      mapping: Type.Optional(Type.String()),
      trusted: Type.Boolean(),
    },
    { description: 'What the run originates from.' },
  ),
  name: Type.Optional(Type.String()),
  reply: Type.Optional(Type.String()),
  error: Type.Optional(
    Type.Object(
      { type: Type.String(), message: Type.String(), detail: Type.Optional(Type.String()) },
      { description: 'Why there is no reply. For a run that has not ended: why its last attempt failed.' },
    ),
  ),
  usage: Type.Optional(
    Type.Object(
      {
        ...tokenCounts,
        steps: Type.Integer({ description: 'Number of model calls.' }),
      },
      { description: 'Token usage of all steps.' },
    ),
  ),
  toolErrors: Type.Optional(
    Type.Array(Type.Object({ tool: Type.String(), message: Type.String() }), {
      description: 'What tools threw, at most 20. The agent reads none of it.',
    }),
  ),
  retryOf: Type.Optional(Type.String({ description: 'The failed run that this run retries.' })),
  retriedAs: Type.Optional(Type.String({ description: 'The run that retries this one.' })),
  deliveries: Type.Array(Delivery, { description: 'The deliveries of the reply.' }),
  createdAt: Time(),
  queuedMs: Type.Optional(
    Type.Integer({ description: 'Milliseconds from its acceptance to the start of its first attempt.' }),
  ),
  attempts: Type.Array(
    Type.Object({
      startedAt: Time(),
      endedAt: Type.Optional(Time()),
      reason: Type.Optional(
        Type.String({
          description:
            'Why it did not end the run. `interrupted`: the gateway ended. `stopped`: the gateway was stopped. Else the ' +
            'error of its model.',
        }),
      ),
    }),
    { description: 'The attempts, oldest first.' },
  ),
  startedAt: Type.Optional(Time('When the latest attempt started.')),
  nextAttemptAt: Type.Optional(Time('When the run is tried again after a transient failure of its model.')),
  endedAt: Type.Optional(Time()),
})
export type Run = Static<typeof Run>
