// Runs: the list, one run, and its end before its time.
import type { Runs } from '../runs/runs.ts'
import { viewRun } from '../runs/run-view.ts'
import { GatewayError } from '../errors.ts'
import { failures } from '../http/failure.ts'
import { runKinds, runStatuses } from '../store/run-spec.ts'
import type { ListedRun, Store, StoredRun } from '../store/store.ts'
import { type Static, Type } from '../typebox.ts'
import { type Endpoint, endpoint } from './endpoint.ts'
import { IdParams, pageOf, pageQuery, pageRequest, Time } from './lists.ts'

interface RunsDeps {
  store: Pick<Store, 'getRun' | 'listRuns' | 'listRunDeliveries'>
  runs: Pick<Runs, 'cancel' | 'retry'>
}

export function runEndpoints({ store, runs }: RunsDeps): Endpoint[] {
  const view = async (run: ListedRun) => viewRun(run, await store.listRunDeliveries(run.id))

  return [
    endpoint({
      method: 'GET',
      path: '/runs/:id',
      schema: { summary: 'Tells what became of a run.', params: IdParams, response: { 200: Run, ...failures(404) } },
      handle: async ({ params }) => await view(await find(params.id)),
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
        summary: 'Ends a run that waits or is under way.',
        params: IdParams,
        response: { 200: Cancelled, ...failures(404, 409) },
      },
      handle: async ({ params: { id } }) => {
        if (await runs.cancel(id)) return { ok: true, runId: id }
        const { status } = await find(id)
        throw new GatewayError('conflict', `The run has ended already: it is ${status}.`)
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/runs/:id/retry',
      schema: {
        summary: 'Does a failed run once more, as a run of its own.',
        params: IdParams,
        response: { 200: Retried, ...failures(404, 409) },
      },
      handle: async ({ params }) => {
        const { id, sessionKey, status, result } = await find(params.id)
        const failed = status === 'failed' || status === 'timed_out'
        if (!failed) throw new GatewayError('conflict', `Only a run that failed can be retried: this one is ${status}.`)
        const retriedAs = await runs.retry(id)
        if (retriedAs !== undefined) return { ok: true, runId: retriedAs, sessionKey, retryOf: id }
        const { retriedAs: other } = (await store.getRun(id))?.result ?? result
        throw new GatewayError(
          'conflict',
          `The run was retried already, as ${other}; see what became of that one, and retry it if it failed, too.`,
        )
      },
    }),
  ]

  async function find(id: string): Promise<StoredRun> {
    const run = await store.getRun(id)
    if (!run) throw new GatewayError('run_not_found')
    return run
  }
}

const RunsQuery = Type.Object({
  ...pageQuery,
  status: Type.Optional(Type.Enum([...runStatuses])),
  kind: Type.Optional(Type.Enum([...runKinds])),
  hook: Type.Optional(Type.String({ description: 'Only runs of this hook: `agent`, or the name of a mapped one.' })),
  agentId: Type.Optional(Type.String()),
  sessionKey: Type.Optional(Type.String({ description: 'The whole key, `agent:<agent>:<key>`.' })),
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

/** A run as callers see it. */
export const Run = Type.Object({
  id: Type.String(),
  kind: Type.Enum([...runKinds], { description: 'What began it.' }),
  agentId: Type.String(),
  sessionKey: Type.String(),
  model: Type.Optional(
    Type.String({ description: 'The model that ran it; before that, the one that was asked for, if any.' }),
  ),
  status: Type.Enum([...runStatuses], { description: 'The last four are final.' }),
  origin: Type.Object(
    {
      kind: Type.Enum([...runKinds]),
      name: Type.String(),
      mapping: Type.Optional(Type.String()),
      trusted: Type.Boolean(),
    },
    { description: 'Where its work came from.' },
  ),
  name: Type.Optional(Type.String()),
  reply: Type.Optional(Type.String()),
  error: Type.Optional(
    Type.Object(
      { type: Type.String(), message: Type.String(), detail: Type.Optional(Type.String()) },
      { description: 'Why there is no reply; of a run that has not ended, why its last attempt failed.' },
    ),
  ),
  usage: Type.Optional(
    Type.Object(
      {
        inputTokens: Type.Integer(),
        outputTokens: Type.Integer(),
        cachedInputTokens: Type.Integer(),
        reasoningTokens: Type.Integer(),
        totalTokens: Type.Integer(),
        steps: Type.Integer({ description: 'Calls of the model.' }),
      },
      { description: 'Tokens, over all steps.' },
    ),
  ),
  retryOf: Type.Optional(Type.String({ description: 'The failed run that this one does once more.' })),
  retriedAs: Type.Optional(Type.String({ description: 'The run that does this one once more.' })),
  deliveries: Type.Array(Delivery, { description: 'What became of the reply: one entry for each message.' }),
  createdAt: Time(),
  startedAt: Type.Optional(Time()),
  nextAttemptAt: Type.Optional(Time('Of a run that is tried again after its model failed for a passing reason: when.')),
  endedAt: Type.Optional(Time()),
})
export type Run = Static<typeof Run>
