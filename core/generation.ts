// Builds everything that depends on the configuration, anew for each one: agents, tools, what follows a run, the doors.
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { createAgents } from './agents/agents.ts'
import { type Attempt, createAttempt } from './agents/attempt.ts'
import type { Deltas } from './agents/deltas.ts'
import { createGatewayVerbs, type ReloadResult } from './agents/gateway-verbs.ts'
import { createHeartbeat } from './agents/heartbeat.ts'
import { createModels } from './agents/models.ts'
import { createOutcome, type Outcome } from './agents/outcome.ts'
import { createPreview } from './agents/preview.ts'
import type { Runs } from './agents/runs.ts'
import { createSchedules } from './agents/schedules.ts'
import { createStartedRuns } from './agents/started-runs.ts'
import { createTurn } from './agents/turn.ts'
import { createVerbs } from './agents/verbs.ts'
import { resolveCredential } from './config/credentials.ts'
import type { Config } from './config/schema.ts'
import { createChat } from './control/chat.ts'
import { createEndpoints } from './control/endpoints.ts'
import type { createLogNews } from './control/log-news.ts'
import type { createMeters } from './control/meters.ts'
import { createMethods } from './control/methods.ts'
import { createMetrics } from './control/metrics.ts'
import { registerControl } from './control/routes.ts'
import { registerSocket } from './control/socket.ts'
import { createTopics } from './control/topics.ts'
import { readVersion } from './control/version.ts'
import type { Connections } from './delivery/connections.ts'
import { createInbound, type Receive } from './delivery/inbound.ts'
import type { Outbox } from './delivery/outbox.ts'
import { createPost } from './delivery/post.ts'
import { createRecipients } from './delivery/recipient.ts'
import type { ReplyRoutes } from './delivery/reply-routes.ts'
import { GatewayError } from './errors.ts'
import { createAgentBody } from './hooks/action.ts'
import { createDispatch } from './hooks/dispatch.ts'
import type { Journal } from './hooks/journal.ts'
import { createMappings, type Mappings } from './hooks/mappings.ts'
import { viewHooks } from './hooks/overview.ts'
import { createReplay, type Replay } from './hooks/replay.ts'
import { registerHooks } from './hooks/routes.ts'
import type { SecretUse } from './hooks/secret-use.ts'
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
import type { withNews } from './store/news.ts'
import type { Store } from './store/store.ts'
import { declareTheirTools } from './tools/declared.ts'
import { createInvoke } from './tools/invoke.ts'
import { registerMcp } from './tools/mcp.ts'
import { createPolicy } from './tools/policy.ts'
import { createToolRequest } from './tools/request.ts'
import { createRuleOfTwo } from './tools/rule-of-two.ts'
import { registerTools } from './tools/routes.ts'

/** What lasts as long as the process, whatever the configuration says. */
export interface Base extends ResourceDeps {
  file: string | undefined
  env: NodeJS.ProcessEnv
  logNews: ReturnType<typeof createLogNews>['feed']
  store: Store
  news: ReturnType<typeof withNews>['news']
  meters: ReturnType<typeof createMeters>
  createId: () => string
  events: Events
  deltas: Deltas
  runs: Runs
  connections: Connections
  replyRoutes: ReplyRoutes
  outbox: Outbox
  journal: Journal
  secretUse: SecretUse
  listener: Listener
  /** Failed attempts and lockouts, which a reload must not clear. */
  throttles: { hooks: Throttle; gateway: Throttle }
  startedAt: number
  isReady(): boolean
  /** Has the file read again, and takes over what it says. */
  reload(): Promise<ReloadResult>
}

/** The gateway as one configuration wants it. What has begun under it ends under it. Nothing begins by itself before `start`. */
export interface Generation {
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
export async function createGeneration(base: Base, config: Config, previous?: Generation): Promise<Generation> {
  const opened = new AsyncDisposableStack()
  try {
    base.stopping.throwIfAborted()
    return await build(base, config, { previous, opened })
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

interface Building {
  previous: Generation | undefined
  /** Closes what was opened, the last first. */
  opened: AsyncDisposableStack
}

async function build(base: Base, config: Config, { previous, opened }: Building): Promise<Generation> {
  const { dir, file, parts, env, logFor, logNews, store, news, meters, createId, events, deltas, runs, connections, outbox, journal, listener, isReady } = base
  const { defaults } = config.agents

  // Sessions and agents
  const agents = createAgents(config, dir)
  const models = createModels({ config, providers: parts.providers, log: logFor('agents') })
  const modelRefs = new Map(agents.all.map((agent) => [agent.id, models.resolve(agent.model, agent).ref]))

  // Tools
  const tools = previous && isDeepStrictEqual(previous.tools.settings, config.tools) ? previous.tools : await openTools(base, config)
  opened.defer(tools.use())
  const { catalogue } = tools
  const policy = createPolicy({ config, catalogue, modelOf: (agentId) => modelRefs.get(agentId) ?? '', isForeign: (toolset) => !isOwnToolset(parts, toolset) })
  // Where every toolset declares its tools, names that mean none are among the findings about the configuration.
  const unmatched = declareTheirTools(parts.toolsets.values()) ? [] : policy.problems
  for (const problem of [...catalogue.problems, ...unmatched]) logFor('tools').warn({}, problem)
  const ruleOfTwo = createRuleOfTwo({ store, policy, effects: config.tools.effects, log: logFor('tools') })
  const invoke = createInvoke({
    catalogue,
    policy,
    ruleOfTwo,
    verbs: (call) => verbs(call),
    timeoutMs: config.tools.timeoutSeconds * 1000,
    log: logFor('tools'),
  })

  // Runs, and what follows them
  const loaded = new Set(parts.channels.keys())
  const recipients = createRecipients({ store, routes: base.replyRoutes, channels: config.channels, loaded, mainSession: agents.default.mainSession })
  await base.replyRoutes.watch(agents.default.mainSession, loaded)
  const runTurn = createTurn({ invoke, tools: (subject) => policy.listed(subject).map(({ tool }) => tool), log: logFor('agents') })
  const work = createWork()
  const attempt = createAttempt({ config, store, agents, models, policy, runTurn, deltas, log: logFor('agents') })
  const heartbeat = createHeartbeat({ agents, events, runs, store, createId, maxAttempts: defaults.maxAttempts, log: logFor('agents') })

  // What tools may ask for
  const post = createPost({ store, recipients, accept: runs.accept, onMessages: outbox.ring, createId })
  const startedRuns = createStartedRuns({ store, runs, agents, models, createId, limits: config.tools.subagents, maxAttempts: defaults.maxAttempts })
  const schedules = createSchedules({ store, runs, agents, post, createId, maxAttempts: defaults.maxAttempts, log: logFor('agents') })
  const gatewayVerbs = createGatewayVerbs({
    config,
    file,
    parts,
    env,
    store,
    agents,
    connections,
    reload: base.reload,
    startedAt: base.startedAt,
    reloaded: previous !== undefined,
  })
  const verbs = createVerbs({ store, agents, sessions: createSessionsView(store, agents.default.id), startedRuns, post, schedules, gateway: gatewayVerbs })

  // Doors
  const app = createServer({ log: logFor('http'), trustedProxies: config.gateway.trustedProxies, isReady, listener })
  opened.defer(() => app.close())
  const routes = listRoutes(app)
  registerHealth(app, { isReady, probe: () => store.probe() })
  const checkCredential = credentialCheck(base, config)
  const auth = createGatewayAuth(checkCredential)
  registerTools(app, { auth, catalogue, policy, ruleOfTwo, invoke, agents })
  const { allowedOrigins = [] } = config.gateway
  registerMcp(app, { auth, allowedOrigins, policy, invoke, agents, version: readVersion() })
  const { hooks } = config
  const agentBody = createAgentBody(parts.channels.keys())
  const dispatch = createDispatch({ config, agents, models, recipients, runs, journal, createId })
  const transforms = previous?.transforms.dir === hooks.transformsDir ? previous.transforms : openTransforms(base, config)
  opened.defer(transforms.use())
  let mappings: Mappings | undefined
  let replay: Replay | undefined
  if (hooks.enabled && hooks.token !== undefined) {
    const { secretUse } = base
    const publicUrl = config.gateway.publicUrl?.replace(/\/+$/, '')
    mappings = createMappings({ hooks, publicUrl, presets: parts.presets, agentBody, sandbox: transforms.sandbox, secretUse, log: logFor('hooks') })
    opened.defer(mappings.close)
    registerHooks(app, {
      hooks: { ...hooks, token: hooks.token },
      publicUrl,
      throttle: base.throttles.hooks,
      agentBody,
      mappings,
      dispatch,
      journal,
      runs,
      createId,
      log: logFor('hooks'),
    })
    const preview = createPreview({ store, agents, models, recipients, policy, ruleOfTwo })
    replay = createReplay({ dispatch, agentBody, mappings, keepBody: hooks.keepBody, journal, createId, preview })
  } else logFor('hooks').info({}, 'webhooks are off; hooks.enabled turns them on')
  const endpoints = createEndpoints({
    config,
    parts,
    store,
    runs,
    agents,
    replay,
    hooks: async () => (mappings ? await viewHooks(mappings) : []),
    ring: outbox.ring,
    connections: connections.states,
    tools: catalogue.list,
    routes,
  })
  registerControl(app, { auth, endpoints, routes, meters, metrics: createMetrics({ meters, store, channels: connections.states }) })
  const chat = createChat({ runs, agents, deltas, createId, maxAttempts: defaults.maxAttempts })
  const methods = createMethods({ chat, invokeTool: createToolRequest({ catalogue, invoke }), agents, endpoints })
  const sockets = registerSocket(app, { check: checkCredential, allowedOrigins, methods, topics: createTopics(news, logNews), log: logFor('control') })

  return {
    config,
    app,
    attempt: (run, stop) => work.track(attempt(run, stop)),
    outcome: createOutcome({ agents, recipients, createId, onFailure: hooks.onFailure, log: logFor('agents') }),
    receive: createInbound({
      accept: runs.accept,
      agent: agents.default,
      maxAttempts: defaults.maxAttempts,
      createId,
      routes: base.replyRoutes,
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
      await work.idle()
      await opened.disposeAsync()
    },
  }
}

/** Counts what is under way. */
function createWork() {
  const underWay = new Set<Promise<unknown>>()
  return {
    track: async <T>(work: Promise<T>): Promise<T> => {
      underWay.add(work)
      try {
        return await work
      } finally {
        underWay.delete(work)
      }
    },
    idle: async (): Promise<void> => {
      while (underWay.size > 0) await Promise.allSettled(underWay)
    },
  }
}

function credentialCheck({ env, throttles }: Base, config: Config): CheckCredential {
  const { value } = resolveCredential(config.gateway.auth, env)
  if (value === undefined) throw new GatewayError('conflict', 'The gateway has no credential; set gateway.auth.token or SVC_GATEWAY_TOKEN.')
  const { rateLimit } = config.gateway.auth
  return createCredentialCheck({
    credential: value,
    exemptLoopback: rateLimit?.exemptLoopback ?? true,
    ...(rateLimit && { throttle: throttles.gateway }),
  })
}
