// Builds the tool API: sessions, subagent runs, messages, schedules, the configuration.
import { createToolDelivery } from '../delivery/tool-delivery.ts'
import type { GatewayApi } from '../plugin/plugin.ts'
import { type Caller, sourceOf } from '../runs/provenance.ts'
import { createToolApi } from '../runs/tool-api.ts'
import { buildGatewayApi } from './gateway-api.ts'
import { createRunLimits } from '../runs/run-limits.ts'
import { createSubagentRuns } from '../runs/subagents.ts'
import { createSchedules } from '../schedules/schedules.ts'
import { createSessionsView } from '../sessions/sessions.ts'
import type { AuditLog } from '../store/audit-log.ts'
import { createReach } from '../tools/reach.ts'
import type { AgentArea } from './agents.ts'
import type { BuildContext } from './build-context.ts'

export type ToolApiArea = ReturnType<typeof buildToolApi>

export function buildToolApi(context: BuildContext, { agents, models, recipients }: AgentArea) {
  const { config, services } = context
  const { storage, work, delivery, logs } = services
  const { store, createId, now } = storage
  const { runs } = work
  const { maxAttempts } = config.agents.defaults
  const reach = createReach(config)
  const toolDelivery = createToolDelivery({
    routes: delivery.replyRoutes,
    recipients,
    channels: services.environment.extensions.channels,
    accept: runs.accept,
    onDeliveries: delivery.outbox.notify,
    createId,
  })
  const limits = config.tools.subagents
  const subagentRuns = createSubagentRuns({ store, runs, agents, models, createId, reach, limits, maxAttempts })
  const log = logs.logFor('agents')
  const schedules = createSchedules({ store, runs, agents, toolDelivery, createId, now, maxAttempts, log })
  const sessions = createSessionsView(store, agents.default.id)
  const gateway = buildGatewayApi(context, agents)
  const gatewayFor = (caller: Caller): GatewayApi => withAudit(gateway, { audit: storage.audit, caller })
  const { propagateTo: traceHosts } = config.telemetry
  const toolApi = createToolApi({
    store,
    files: storage.files,
    agents,
    sessions,
    subagentRuns,
    toolDelivery,
    limits: createRunLimits({ store, agents, log }),
    schedules,
    gatewayFor,
    reach,
    traceHosts,
  })
  return { toolApi, schedules }
}

/** Records what the caller changes. */
function withAudit(gateway: GatewayApi, { audit, caller }: { audit: AuditLog; caller: Caller }): GatewayApi {
  const { agentId } = caller.subject
  const targetOf = ({ changed }: { changed: readonly string[] }): string => changed.join(', ')
  return {
    ...gateway,
    reload: () => audit.during(sourceOf(caller), { action: 'config.reload', agentId }, gateway.reload),
    patchConfig: (changes) =>
      audit.during(sourceOf(caller), { action: 'config.change', agentId, targetOf }, () =>
        gateway.patchConfig(changes),
      ),
  }
}
