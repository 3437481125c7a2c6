// Builds the tool API: sessions, subagent runs, messages, schedules, the configuration.
import { createToolDelivery } from '../delivery/tool-delivery.ts'
import { createToolApi } from '../runs/tool-api.ts'
import { createGatewayApi } from './gateway-api.ts'
import { createSubagentRuns } from '../runs/subagents.ts'
import { createSchedules } from '../schedules/schedules.ts'
import { createSessionsView } from '../sessions/sessions.ts'
import type { AgentArea } from './agents.ts'
import type { BuildContext } from './build-context.ts'

export type ToolApiArea = ReturnType<typeof buildToolApi>

export function buildToolApi(context: BuildContext, { agents, models, recipients }: AgentArea) {
  const { config, services } = context
  const { storage, work, delivery, logs } = services
  const { store, createId, now } = storage
  const { runs } = work
  const { maxAttempts } = config.agents.defaults
  const toolDelivery = createToolDelivery({
    store,
    recipients,
    channels: services.environment.extensions.channels,
    accept: runs.accept,
    onDeliveries: delivery.outbox.notify,
    createId,
  })
  const limits = config.tools.subagents
  const subagentRuns = createSubagentRuns({ store, runs, agents, models, createId, limits, maxAttempts })
  const log = logs.logFor('agents')
  const schedules = createSchedules({ store, runs, agents, toolDelivery, createId, now, maxAttempts, log })
  const sessions = createSessionsView(store, agents.default.id)
  const gateway = buildGatewayApi(context, agents)
  const { propagateTo: traceHosts } = config.telemetry
  const tools = { store, agents, sessions, subagentRuns, toolDelivery, schedules, gateway, traceHosts }
  const toolApi = createToolApi(tools)
  return { toolApi, schedules }
}

const buildGatewayApi = (
  { config, services, lifecycle, previous }: BuildContext,
  agents: AgentArea['agents'],
): ReturnType<typeof createGatewayApi> =>
  createGatewayApi({
    ...services.environment,
    config,
    store: services.storage.store,
    agents,
    connections: services.delivery.connections,
    reload: lifecycle.reload,
    startedAt: services.startedAt,
    reloaded: previous !== undefined,
  })
