// Builds the webhooks: mappings, dispatch, the routes below `hooks.path`, and the replay of stored requests.
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/schema/schema.ts'
import { createAgentBody } from '../hooks/schemas.ts'
import { createCompareMappings } from '../hooks/compare-mappings.ts'
import { createDispatch } from '../hooks/dispatch.ts'
import { createDescribePlan } from '../hooks/dry-run.ts'
import { createCurlImport } from '../hooks/import-curl.ts'
import { createMappingPreview } from '../hooks/mapping-preview.ts'
import { createMappings } from '../hooks/mappings.ts'
import { createPipeline } from '../hooks/pipeline.ts'
import { createAcceptPayload } from '../hooks/jobs/accept-payload.ts'
import { createSamples } from '../hooks/samples.ts'
import { createReplay } from '../hooks/replay.ts'
import { registerHooks } from '../hooks/routes.ts'
import { createPreview } from '../runs/preview.ts'
import type { AgentArea } from './agents.ts'
import type { BuildContext } from './build-context.ts'
import { acquireTransforms } from './resources.ts'
import type { ToolArea } from './tools.ts'

export type HookArea = ReturnType<typeof buildHooks>

export function buildHooks(app: FastifyInstance, context: BuildContext, areas: AgentArea & ToolArea) {
  const { config, services } = context
  const transforms = acquireTransforms(context)
  const { hooks } = config
  if (!isEnabled(hooks)) {
    services.logs.logFor('hooks').info({}, 'webhooks are disabled; set hooks.enabled to enable them')
    return { transforms }
  }
  const { agents, models, recipients, policy, ruleOfTwo } = areas
  const { store, createId } = services.storage
  const { runs } = services.work
  const { requestLog, secretUse, jobs } = services.hooks
  const log = services.logs.logFor('hooks')
  const { channels, presets, schemes } = services.environment.extensions
  const agentBody = createAgentBody(channels)
  const dispatch = createDispatch({ config, agents, models, recipients, runs, requestLog, createId })
  const { publicUrl } = config.gateway
  const { sandbox } = transforms
  const mappings = createMappings({ config, presets, schemes, agentBody, sandbox, secretUse, log })
  context.opened.defer(mappings.close)
  const throttle = services.http.throttles.hooks
  const pipeline = createPipeline({ mappings, dispatch, createId, record: requestLog.record })
  const routes = { hooks, publicUrl, throttle, agentBody, mappings, dispatch, requestLog, runs, createId, log }
  registerHooks(app, { ...routes, pipeline, notifyJob: jobs.notify, tracer: services.tracer })
  const { budgets } = services.work
  const { files } = services.storage
  const { canAsk } = services.work.approvals
  const narrowsChats = config.tools.narrowChats
  const planning = { agents, models, policy, canAsk, narrowsChats }
  const preview = createPreview({ ...planning, store, files, recipients, ruleOfTwo, budgets })
  const describePlan = createDescribePlan(preview)
  const replay = createReplay({ agents, dispatch, agentBody, mappings, hooks, store, createId, describePlan })
  const { dir, env, extensions } = services.environment
  const rules = { config, extensions, env, dir }
  const previewMapping = createMappingPreview({
    rules,
    agentBody,
    schemes,
    sandbox,
    planner: dispatch,
    describePlan,
    secretUse,
    log,
  })
  const acceptPayload = createAcceptPayload({ mappings, dispatch, store, createId })
  const samples = createSamples({ presets, replay })
  const compareMappings = createCompareMappings(mappings)
  const importCurl = createCurlImport(schemes)
  return { transforms, mappings, compareMappings, replay, previewMapping, importCurl, samples, acceptPayload }
}

/** The configuration rules require a token when hooks are enabled. */
const isEnabled = (hooks: Config['hooks']): hooks is Config['hooks'] & { token: string } =>
  hooks.enabled && hooks.token !== undefined
