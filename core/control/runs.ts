// The endpoints that list, show, cancel and retry runs.
import type { Runs } from '../runs/runs.ts'
import { GatewayError } from '../errors.ts'
import { type Principal, reaches } from '../http/access.ts'
import { failures } from '../http/failure.ts'
import { runKinds, runStatuses } from '../store/run-spec.ts'
import type { ListedRun, Store, StoredRun } from '../store/store.ts'
import type { ExplainNarrowing } from '../tools/explain-narrowing.ts'
import { Type } from '../typebox.ts'
import { sessionKey as sealedKey } from './content.ts'
import { type Endpoint, endpoint, found } from './endpoint.ts'
import { IdParams, pageOf, pageQuery, pageRequest, viewPage } from './lists.ts'
import { Run, viewRun } from './run-view.ts'
import { Step, viewStep } from './step-view.ts'

interface RunsDeps {
  store: Pick<Store, 'getRun' | 'listRuns' | 'listRunDeliveries' | 'listSteps' | 'listToolErrors' | 'sumSubagentUsage'>
  runs: Pick<Runs, 'cancel' | 'retry'>
  explainNarrowing: ExplainNarrowing
}

export function runEndpoints({ store, runs, explainNarrowing }: RunsDeps): Endpoint[] {
  const findRun = async (id: string, principal: Principal): Promise<StoredRun> => {
    const run = found(await store.getRun(id), 'run_not_found')
    if (!reaches(principal, run.agentId)) throw new GatewayError('run_not_found')
    return run
  }
  const viewAll = async (listed: readonly ListedRun[]) => {
    const deliveries = Map.groupBy(await store.listRunDeliveries(listed.map(({ id }) => id)), ({ runId }) => runId)
    return listed.map((run) => viewRun(run, deliveries.get(run.id) ?? [], { explainNarrowing }))
  }

  return [
    endpoint({
      method: 'GET',
      path: '/runs/:id',
      access: { needs: 'read', scope: 'agents' },
      schema: { summary: 'Returns a run.', params: IdParams, response: { 200: Run, ...failures(404) } },
      handle: async ({ params, principal }) => {
        const run = await findRun(params.id, principal)
        const { id } = run
        const [deliveries, subagents, toolErrors] = await Promise.all([
          store.listRunDeliveries([id]),
          store.sumSubagentUsage(id),
          store.listToolErrors(id),
        ])
        return viewRun(run, deliveries, { explainNarrowing, subagents, toolErrors })
      },
    }),
    endpoint({
      method: 'GET',
      path: '/runs/:id/steps',
      access: { needs: 'read', scope: 'agents' },
      schema: {
        summary: 'Lists the steps of a run, in their order.',
        params: IdParams,
        querystring: Type.Object(pageQuery),
        response: { 200: pageOf(Step), ...failures(404) },
      },
      handle: async ({ params, query, principal }) => {
        const { id } = await findRun(params.id, principal)
        const { before: after, limit } = pageRequest(query)
        return viewPage(await store.listSteps(id, { after, limit }), viewStep)
      },
    }),
    endpoint({
      method: 'GET',
      path: '/api/runs',
      access: { needs: 'read', scope: 'agents' },
      schema: { summary: 'Lists runs.', querystring: RunsQuery, response: { 200: pageOf(Run) } },
      handle: async ({ query, principal: { agents } }) => {
        const { items, next } = await store.listRuns({ ...query, agents }, pageRequest(query))
        return { items: await viewAll(items), ...(next !== undefined && { next: String(next) }) }
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/runs/:id/cancel',
      access: { needs: 'operate', scope: 'agents', action: 'run.cancel' },
      schema: {
        summary: 'Cancels a run that is queued, runs, or waits for an approval.',
        params: IdParams,
        response: { 200: Cancelled, ...failures(404, 409) },
      },
      handle: async ({ params: { id }, principal, change }) => {
        const { agentId } = await findRun(id, principal)
        if (await runs.cancel(id, change(id, agentId))) return { ok: true, runId: id }
        const { status } = await findRun(id, principal)
        throw new GatewayError('conflict', `The run has already ended: its status is ${status}.`)
      },
    }),
    endpoint({
      method: 'POST',
      path: '/api/runs/:id/retry',
      access: { needs: 'operate', scope: 'agents', action: 'run.retry' },
      schema: {
        summary: 'Retries a failed run as a new run.',
        params: IdParams,
        response: { 200: Retried, ...failures(404, 409) },
      },
      handle: async ({ params, principal, change }) => {
        const { id, agentId, sessionKey, status, result } = await findRun(params.id, principal)
        const failed = status === 'failed' || status === 'timed_out'
        if (!failed)
          throw new GatewayError('conflict', `Only a failed run can be retried; the status of this one is ${status}.`)
        const retriedAs = await runs.retry(id, change(id, agentId))
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
  sessionKey: Type.Optional(Type.String({ ...sealedKey, description: 'The full key, `agent:<agent>:<key>`.' })),
})

const Cancelled = Type.Object({ ok: Type.Literal(true), runId: Type.String() })

const Retried = Type.Object({
  ok: Type.Literal(true),
  runId: Type.String(),
  sessionKey: Type.String(sealedKey),
  retryOf: Type.String(),
})
