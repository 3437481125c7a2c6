// Builds everything that depends on the configuration, anew for each one: agents, tools, what follows a run, the route
// groups.
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { createAgents } from './agents/agents.ts'
import { type Attempt, createAttempt } from './runs/attempt.ts'
import type { ReplyStreams } from './agents/reply-stream.ts'
import { createGatewayApi, type ReloadResult } from './runs/gateway-api.ts'
import { createHeartbeat } from './schedules/heartbeat.ts'
import { createModels } from './agents/models.ts'
import { createOutcome, type Outcome } from './runs/outcome.ts'
import { createPreview } from './runs/preview.ts'
import type { Runs } from './runs/runs.ts'
import { createSchedules } from './schedules/schedules.ts'
import { createSubagentRuns } from './runs/subagents.ts'
import { createTurn } from './agents/turn.ts'
import { createToolApi } from './runs/create-tool-api.ts'
import { resolveCredential } from './config/credentials.ts'
import type { Config } from './config/schema.ts'
import { createChat } from './control/ws/chat.ts'
import { createEndpoints } from './control/endpoints.ts'
import type { createLogStream } from './control/ws/log-stream.ts'
import type { createMeters } from './control/meters.ts'
import { createMethods } from './control/ws/methods.ts'
import { createMetrics } from './control/metrics.ts'
import { registerControl } from './control/routes.ts'
import { registerSocket } from './control/ws/socket.ts'
import { createTopics } from './control/ws/topics.ts'
import { readVersion } from './control/version.ts'
import type { Connections } from './delivery/connections.ts'
import { createInbound, type Receive } from './delivery/inbound.ts'
import type { Outbox } from './delivery/outbox.ts'
import { createToolDelivery } from './delivery/tool-delivery.ts'
import { createRecipients } from './delivery/recipient.ts'
import type { ReplyRoutes } from './delivery/reply-routes.ts'
import { GatewayError } from './errors.ts'
import { createAgentBody } from './hooks/action.ts'
import { createDispatch } from './hooks/dispatch.ts'
import type { RequestLog } from './hooks/request-log.ts'
import { createMappings, type Mappings } from './hooks/mappings.ts'
import { viewHooks } from './hooks/overview.ts'
import { createReplay, type Replay } from './hooks/replay.ts'
import { registerHooks } from './hooks/routes.ts'
import type { SecretUse } from './hooks/auth/secret-use.ts'
import { type CheckCredential, createCredentialCheck, createGatewayAuth } from './http/auth.ts'
import { registerHealth } from './http/health.ts'
import type { Listener } from './http/listener.ts'
import { listRoutes } from './http/route-list.ts'
import { createServer } from './http/server.ts'
import type { Throttle } from './http/throttle.ts'
import { isOwnToolset } from './loader/registry.ts'
import { openTools, openTransforms, type ResourceDeps, type Tools, type Transforms } from './resources.ts'
import type { Events } from './sessions/events.ts'
import { createSessionsView } from './sessions/sessions.ts'
import type { withChangeEvents } from './store/change-events.ts'
import type { Store } from './store/store.ts'
import { declareTheirTools } from './tools/declared.ts'
import { createInvoke } from './tools/invoke.ts'
import { registerMcp } from './tools/mcp.ts'
import { createPolicy } from './tools/policy.ts'
import { createToolRequest } from './tools/request.ts'
import { createRuleOfTwo } from './tools/rule-of-two.ts'
import { registerTools } from './tools/routes.ts'
import { createInFlight } from './runs/in-flight.ts'

/** What lasts as long as the process, whatever the configuration says. */
export interface Services extends ResourceDeps {
  file: string | undefined
  env: NodeJS.ProcessEnv
  logStream: ReturnType<typeof createLogStream>['feed']
  store: Store
  changes: ReturnType<typeof withChangeEvents>['changes']
  meters: ReturnType<typeof createMeters>
  createId: () => string
  events: Events
  replyStreams: ReplyStreams
  runs: Runs
  connections: Connections
  replyRoutes: ReplyRoutes
  outbox: Outbox
  requestLog: RequestLog
  secretUse: SecretUse
  listener: Listener
  /** Failed attempts and lockouts, which a reload must not clear. */
  throttles: { hooks: Throttle; gateway: Throttle }
  startedAt: number
  isReady(): boolean
  /** Has the file read again, and takes over what it says. */
  reload(): Promise<ReloadResult>
}

/**
 * The gateway as one configuration wants it. What has begun under it ends under it. Nothing begins by itself before
 * `start`.
 */
export interface Runtime {
  config: Config
  app: FastifyInstance
  attempt: Attempt
  outcome: Outcome
  receive: Receive
  tools: Tools
  transforms: Transforms
  /** Begins what happens by itself: heartbeats, schedules. */
  start(): void
  /** Ends that. Connections end with the answer that they wait for. */
  stop(): Promise<void>
  /** Ends the connections of WebSocket clients, which have `ms` to end their calls. */
  disconnect(ms: number): Promise<void>
  /** Waits until no attempt and no webhook of it is under way, then closes what it has opened and nobody else uses. */
  close(): Promise<void>
}

/** Of a build that fails, or that the stop of the gateway ends, nothing stays open. */
export async function createRuntime(services: Services, config: Config, previous?: Runtime): Promise<Runtime> {
  const opened = new AsyncDisposableStack()
  try {
    services.stopping.throwIfAborted()
    return await build(services, config, { previous, opened })
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

interface Building {
  previous: Runtime | undefined
  /** Closes what was opened, the last first. */
  opened: AsyncDisposableStack
}

async function build(services: Services, config: Config, { previous, opened }: Building): Promise<Runtime> {
  const { dir, file, extensions, env, logFor, logStream, store, changes, meters } = services
  const { createId, events, replyStreams, runs, connections, outbox, requestLog, listener, isReady } = services
  const { defaults } = config.agents

  // Sessions and agents
  const agents = createAgents(config, dir)
  const models = createModels({ config, providers: extensions.providers, log: logFor('agents') })
  const modelRefs = new Map(agents.all.map((agent) => [agent.id, models.resolve(agent.model, agent).ref]))

  // Tools
  const tools =
    previous && isDeepStrictEqual(previous.tools.settings, config.tools)
      ? previous.tools
      : await openTools(services, config)
  opened.defer(tools.use())
  const { registry } = tools
  const policy = createPolicy({
    config,
    registry,
    modelOf: (agentId) => modelRefs.get(agentId) ?? '',
    isForeign: (toolset) => !isOwnToolset(extensions, toolset),
  })
  // Where every toolset declares its tools, names that mean none are among the findings about the configuration.
  const unmatched = declareTheirTools(extensions.toolsets.values()) ? [] : policy.problems
  for (const problem of [...registry.problems, ...unmatched]) logFor('tools').warn({}, problem)
  const ruleOfTwo = createRuleOfTwo({ store, policy, effects: config.tools.effects, log: logFor('tools') })
  const invoke = createInvoke({
    registry,
    policy,
    ruleOfTwo,
    toolApi: (call) => toolApi(call),
    timeoutMs: config.tools.timeoutSeconds * 1000,
    log: logFor('tools'),
  })

  // Runs, and what follows them
  const loaded = new Set(extensions.channels.keys())
  const recipients = createRecipients({
    store,
    routes: services.replyRoutes,
    channels: config.channels,
    loaded,
    mainSession: agents.default.mainSession,
  })
  await services.replyRoutes.watch(agents.default.mainSession, loaded)
  const runTurn = createTurn({
    invoke,
    tools: (subject) => policy.listed(subject).map(({ tool }) => tool),
    log: logFor('agents'),
  })
  const inFlight = createInFlight()
  const attempt = createAttempt({ config, store, agents, models, policy, runTurn, replyStreams, log: logFor('agents') })
  const heartbeat = createHeartbeat({
    agents,
    events,
    runs,
    store,
    createId,
    maxAttempts: defaults.maxAttempts,
    log: logFor('agents'),
  })

  // What tools may ask for
  const toolDelivery = createToolDelivery({
    store,
    recipients,
    accept: runs.accept,
    onDeliveries: outbox.notify,
    createId,
  })
  const subagentRuns = createSubagentRuns({
    store,
    runs,
    agents,
    models,
    createId,
    limits: config.tools.subagents,
    maxAttempts: defaults.maxAttempts,
  })
  const schedules = createSchedules({
    store,
    runs,
    agents,
    toolDelivery,
    createId,
    maxAttempts: defaults.maxAttempts,
    log: logFor('agents'),
  })
  const gatewayApi = createGatewayApi({
    config,
    file,
    extensions,
    env,
    store,
    agents,
    connections,
    reload: services.reload,
    startedAt: services.startedAt,
    reloaded: previous !== undefined,
  })
  const toolApi = createToolApi({
    store,
    agents,
    sessions: createSessionsView(store, agents.default.id),
    subagentRuns,
    toolDelivery,
    schedules,
    gateway: gatewayApi,
  })

  // Doors
  const app = createServer({ log: logFor('http'), trustedProxies: config.gateway.trustedProxies, isReady, listener })
  opened.defer(() => app.close())
  const routes = listRoutes(app)
  registerHealth(app, { isReady, probe: () => store.probe() })
  const checkCredential = credentialCheck(services, config)
  const auth = createGatewayAuth(checkCredential)
  registerTools(app, { auth, registry, policy, ruleOfTwo, invoke, agents })
  const { allowedOrigins = [] } = config.gateway
  registerMcp(app, { auth, allowedOrigins, policy, invoke, agents, version: readVersion() })
  const { hooks } = config
  const agentBody = createAgentBody(extensions.channels.keys())
  const dispatch = createDispatch({ config, agents, models, recipients, runs, requestLog, createId })
  const transforms =
    previous?.transforms.dir === hooks.transformsDir ? previous.transforms : openTransforms(services, config)
  opened.defer(transforms.use())
  let mappings: Mappings | undefined
  let replay: Replay | undefined
  if (hooks.enabled && hooks.token !== undefined) {
    const { secretUse } = services
    const publicUrl = config.gateway.publicUrl?.replace(/\/+$/, '')
    mappings = createMappings({
      hooks,
      publicUrl,
      presets: extensions.presets,
      agentBody,
      sandbox: transforms.sandbox,
      secretUse,
      log: logFor('hooks'),
    })
    opened.defer(mappings.close)
    registerHooks(app, {
      hooks: { ...hooks, token: hooks.token },
      publicUrl,
      throttle: services.throttles.hooks,
      agentBody,
      mappings,
      dispatch,
      requestLog,
      runs,
      createId,
      log: logFor('hooks'),
    })
    const preview = createPreview({ store, agents, models, recipients, policy, ruleOfTwo })
    replay = createReplay({ dispatch, agentBody, mappings, keepBody: hooks.keepBody, requestLog, createId, preview })
  } else logFor('hooks').info({}, 'webhooks are off; hooks.enabled turns them on')
  const endpoints = createEndpoints({
    config,
    extensions,
    store,
    runs,
    agents,
    replay,
    hooks: async () => (mappings ? await viewHooks(mappings) : []),
    notify: outbox.notify,
    connections: connections.states,
    tools: registry.list,
    routes,
  })
  registerControl(app, {
    auth,
    endpoints,
    routes,
    meters,
    metrics: createMetrics({ meters, store, channels: connections.states }),
  })
  const chat = createChat({ runs, agents, replyStreams, createId, maxAttempts: defaults.maxAttempts })
  const methods = createMethods({ chat, invokeTool: createToolRequest({ registry, invoke }), agents, endpoints })
  const sockets = registerSocket(app, {
    check: checkCredential,
    allowedOrigins,
    methods,
    topics: createTopics(changes, logStream),
    log: logFor('control'),
  })

  return {
    config,
    app,
    attempt: (run, stop) => inFlight.track(attempt(run, stop)),
    outcome: createOutcome({ agents, recipients, createId, onFailure: hooks.onFailure, log: logFor('agents') }),
    receive: createInbound({
      accept: runs.accept,
      agent: agents.default,
      maxAttempts: defaults.maxAttempts,
      createId,
      routes: services.replyRoutes,
      log: logFor('delivery'),
    }),
    tools,
    transforms,
    start: () => {
      heartbeat.start()
      schedules.start()
    },
    stop: async () => {
      heartbeat.close()
      await Promise.all([schedules.close(), app.close()])
    },
    disconnect: sockets.close,
    close: async () => {
      await inFlight.idle()
      await opened.disposeAsync()
    },
  }
}

function credentialCheck({ env, throttles }: Services, config: Config): CheckCredential {
  const { value } = resolveCredential(config.gateway.auth, env)
  if (value === undefined)
    throw new GatewayError('conflict', 'The gateway has no credential; set gateway.auth.token or SVC_GATEWAY_TOKEN.')
  const { rateLimit } = config.gateway.auth
  return createCredentialCheck({
    credential: value,
    exemptLoopback: rateLimit?.exemptLoopback ?? true,
    ...(rateLimit && { throttle: throttles.gateway }),
  })
}
