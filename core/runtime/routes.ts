// Builds the HTTP server of a runtime with its route groups: health, tools, MCP, hooks, control, and the WebSocket.
import { createCallEndpoint } from '../control/call-endpoint.ts'
import { createCursorSeal, createSessionKeySeal } from '../control/cursor.ts'
import { createEndpoints } from '../control/endpoints.ts'
import { createMetrics } from '../control/metrics/metrics.ts'
import { createPanels } from '../control/page/panel-files.ts'
import { registerPage } from '../control/page/routes.ts'
import { registerControl } from '../control/routes.ts'
import { readVersion } from '../version.ts'
import { createChat } from '../control/ws/chat.ts'
import { createMethods } from '../control/ws/methods.ts'
import { registerSocket } from '../control/ws/socket.ts'
import { createTopics } from '../control/ws/topics.ts'
import { listChannelRoutes, registerChannels } from '../delivery/connections/routes.ts'
import { untilAborted } from '../deadline.ts'
import { GatewayError } from '../errors.ts'
import type { AcceptPayload } from '../hooks/jobs/job.ts'
import { viewHooks } from '../hooks/overview.ts'
import { registerHealth } from '../http/health.ts'
import { listRoutes } from '../http/route-list.ts'
import { createServer } from '../http/server.ts'
import { readHistory } from '../runs/turn-context.ts'
import type { Services } from '../services.ts'
import { agentOfKey } from '../store/store.ts'
import { registerMcp } from '../tools/mcp.ts'
import { createApprovalWait } from '../approvals/mcp-calls.ts'
import { createExplainNarrowing, type ExplainNarrowing } from '../tools/explain-narrowing.ts'
import { createToolRequest, type ToolRequest, type WaitForApproval } from '../tools/request.ts'
import { registerTools } from '../tools/routes.ts'
import { createUnderWay } from '../under-way.ts'
import type { AgentArea } from './agents.ts'
import { createAccountCheck } from '../delivery/connections/account-check.ts'
import type { BuildContext } from './build-context.ts'
import { buildAuth, credentialOf } from './credentials.ts'
import { createConfigFile } from './config-file.ts'
import { buildHooks, type HookArea } from './hooks.ts'
import type { ToolArea } from './tools.ts'

type Areas = AgentArea & ToolArea

export function buildRoutes(context: BuildContext, areas: Areas) {
  const { config, services, lifecycle } = context
  const { trustedProxies, allowedOrigins = [] } = config.gateway
  const { findRefusal } = lifecycle
  const { listener } = services.http
  const { agents } = areas
  const app = createServer({ log: services.logs.logFor('http'), trustedProxies, findRefusal, listener })
  context.opened.defer(() => app.close())
  const ownRoutes = listRoutes(app)
  const routes = () => [...ownRoutes(), ...listChannelRoutes(services.delivery.connections)]
  const { checkCredential, guard, credential } = buildAuth(services, config)
  const panels = createPanels({ extensions: services.environment.extensions, config })
  if (config.gateway.page)
    registerPage(app, { codes: services.http.signInCodes, panels, check: checkCredential, credential })
  const { audit, store } = services.storage
  const callsUnderWay = createUnderWay()
  const requestTool = createToolRequest({ ...areas, audit, waitForApproval: buildApprovalWait(context) })
  const invokeTool: ToolRequest = (...request) => callsUnderWay.add(requestTool(...request))
  // The tools stay open until the calls of clients have ended, unless the gateway stops.
  context.opened.defer(() => untilAborted(callsUnderWay.settled(), lifecycle.stopping).catch(() => undefined))
  const sessionKeys = createSessionKeySeal(credentialOf(services, config))
  const call = createCallEndpoint(audit, sessionKeys)
  registerHealth(app, { findRefusal, probe: store.probe })
  const readVisible = async (sessionKey: string) =>
    (await readHistory(store, sessionKey, agents.get(agentOfKey(sessionKey)).history)).seen
  const explainNarrowing = createExplainNarrowing({ config, canAsk: services.work.approvals.canAsk })
  registerTools(app, {
    guard,
    ...areas,
    invokeTool,
    readVisible,
    narrowsChats: config.tools.narrowChats,
    explainNarrowing,
  })
  registerMcp(app, { guard, allowedOrigins, ...areas, invokeTool, version: readVersion() })
  registerChannels(app, {
    connections: services.delivery.connections,
    throttle: services.http.throttles.hooks,
    log: services.logs.logFor('delivery'),
  })
  const hooks = buildHooks(app, context, areas)
  const endpoints = buildEndpoints(context, { ...areas, ...hooks, routes, panels, explainNarrowing })
  const metrics = buildMetrics(services)
  registerControl(app, { guard, endpoints, call, routes, meters: services.meters, metrics })
  const { runs, replyStreams } = services.work
  const { createId, changes } = services.storage
  const { maxAttempts } = config.agents.defaults
  const chat = createChat({ runs, agents, replyStreams, createId, maxAttempts })
  const sockets = registerSocket(app, {
    check: checkCredential,
    audit,
    allowedOrigins,
    methods: createMethods({ chat, invokeTool, agents, endpoints, call }),
    topics: createTopics({
      changes,
      replicas: services.storage.replicas,
      log: services.logs.feed,
      store,
      agents,
      explainNarrowing,
      redactor: services.redactor,
      sessionKeys,
    }),
    log: services.logs.logFor('control'),
  })
  return { app, sockets, transforms: hooks.transforms, acceptPayload: hooks.acceptPayload ?? refusePayload }
}

/** Lets calls of MCP clients wait for a person, as long as a tool may take. */
const buildApprovalWait = ({ config, services: { work, logs } }: BuildContext): WaitForApproval =>
  createApprovalWait({
    approvals: work.approvals,
    maxWaitMs: config.tools.timeoutSeconds * 1000,
    log: logs.logFor('agents'),
  })

const refusePayload: AcceptPayload = async () => {
  throw new GatewayError('shutting_down', 'Webhooks are disabled.')
}

const buildMetrics = ({ meters, storage, work, delivery, hooks }: Services) =>
  createMetrics({
    meters,
    store: storage.store,
    budgets: work.budgets,
    channels: delivery.connections.states,
    jobs: hooks.jobs.states,
  })

function buildEndpoints(
  { config, services, lifecycle }: BuildContext,
  areas: Areas &
    HookArea & {
      routes: ReturnType<typeof listRoutes>
      panels: ReturnType<typeof createPanels>
      explainNarrowing: ExplainNarrowing
    },
) {
  const { connections, logins, outbox, pairing } = services.delivery
  const { mappings, registry, transforms } = areas
  const { reload } = lifecycle
  return createEndpoints({
    ...areas,
    config,
    warnings: lifecycle.warnings,
    configFile: createConfigFile({ ...services.environment, config, transforms, reload }),
    signInCodes: services.http.signInCodes,
    clientUse: services.http.clientUse,
    extensions: services.environment.extensions,
    store: services.storage.store,
    replicas: services.storage.replicas,
    timezone: Array.isArray(config.budget) ? undefined : config.budget?.timezone,
    cursors: createCursorSeal(credentialOf(services, config)),
    runs: services.work.runs,
    budgets: services.work.budgets,
    approvals: services.work.approvals,
    redactor: services.redactor,
    listTransforms: transforms.sandbox.list,
    hooks: async () => (mappings ? await viewHooks(mappings) : []),
    notify: outbox.notify,
    pairing,
    connections: connections.states,
    jobs: services.hooks.jobs.states,
    logins,
    checkAccount: createAccountCheck({
      connections,
      redact: services.redactor.text,
      log: services.logs.logFor('delivery'),
    }),
    tools: registry.list,
    toolsets: registry.states,
  })
}
