// Builds the HTTP server of a runtime with its route groups: health, tools, MCP, hooks, control, and the WebSocket.
import { resolveCredential } from '../config/credentials.ts'
import type { Config } from '../config/schema/schema.ts'
import { createEndpoints } from '../control/endpoints.ts'
import { createMetrics } from '../control/metrics/metrics.ts'
import { registerControl } from '../control/routes.ts'
import { readVersion } from '../control/version.ts'
import { createChat } from '../control/ws/chat.ts'
import { createMethods } from '../control/ws/methods.ts'
import { registerSocket } from '../control/ws/socket.ts'
import { createTopics } from '../control/ws/topics.ts'
import { listChannelRoutes, registerChannels } from '../delivery/connections/routes.ts'
import { GatewayError } from '../errors.ts'
import type { AcceptPayload } from '../hooks/jobs/job.ts'
import { viewHooks } from '../hooks/overview.ts'
import { type CheckCredential, createCredentialCheck, createGatewayAuth } from '../http/auth.ts'
import { registerHealth } from '../http/health.ts'
import { listRoutes } from '../http/route-list.ts'
import { createServer } from '../http/server.ts'
import type { Services } from '../services.ts'
import { registerMcp } from '../tools/mcp.ts'
import { createToolRequest } from '../tools/request.ts'
import { registerTools } from '../tools/routes.ts'
import type { AgentArea } from './agents.ts'
import type { BuildContext } from './build-context.ts'
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
  const checkCredential = buildCredentialCheck(services, config)
  const auth = createGatewayAuth(checkCredential)
  registerHealth(app, { findRefusal, probe: services.storage.store.probe })
  registerTools(app, { auth, ...areas })
  registerMcp(app, { auth, allowedOrigins, ...areas, version: readVersion() })
  registerChannels(app, {
    connections: services.delivery.connections,
    throttle: services.http.throttles.hooks,
    log: services.logs.logFor('delivery'),
  })
  const hooks = buildHooks(app, context, areas)
  const endpoints = buildEndpoints(context, { ...areas, ...hooks, routes })
  const metrics = buildMetrics(services)
  registerControl(app, { auth, endpoints, routes, meters: services.meters, metrics })
  const { runs, replyStreams } = services.work
  const { createId, changes } = services.storage
  const { maxAttempts } = config.agents.defaults
  const chat = createChat({ runs, agents, replyStreams, createId, maxAttempts })
  const sockets = registerSocket(app, {
    check: checkCredential,
    allowedOrigins,
    methods: createMethods({ chat, invokeTool: createToolRequest(areas), agents, endpoints }),
    topics: createTopics(changes, services.logs.feed),
    log: services.logs.logFor('control'),
  })
  return { app, sockets, transforms: hooks.transforms, acceptPayload: hooks.acceptPayload ?? refusePayload }
}

const refusePayload: AcceptPayload = async () => {
  throw new GatewayError('shutting_down', 'Webhooks are disabled.')
}

const buildMetrics = ({ meters, storage, delivery, hooks }: Services) =>
  createMetrics({ meters, store: storage.store, channels: delivery.connections.states, jobs: hooks.jobs.states })

function buildEndpoints(
  { config, services }: BuildContext,
  { agents, registry, mappings, replay, routes }: Areas & HookArea & { routes: ReturnType<typeof listRoutes> },
) {
  const { connections, logins, outbox, pairing } = services.delivery
  return createEndpoints({
    config,
    extensions: services.environment.extensions,
    store: services.storage.store,
    runs: services.work.runs,
    agents,
    replay,
    hooks: async () => (mappings ? await viewHooks(mappings) : []),
    notify: outbox.notify,
    pairing,
    connections: connections.states,
    jobs: services.hooks.jobs.states,
    logins,
    tools: registry.list,
    toolsets: registry.states,
    routes,
  })
}

function buildCredentialCheck({ environment, http }: Services, config: Config): CheckCredential {
  const { value } = resolveCredential(config.gateway.auth, environment.env)
  if (value === undefined)
    throw new GatewayError('conflict', 'The gateway has no credential; set gateway.auth.token or SVC_GATEWAY_TOKEN.')
  const { rateLimit } = config.gateway.auth
  return createCredentialCheck({
    credential: value,
    exemptLoopback: rateLimit?.exemptLoopback ?? true,
    ...(rateLimit && { throttle: http.throttles.gateway }),
  })
}
