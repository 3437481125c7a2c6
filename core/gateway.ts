// Builds every part from the ground up and hands each what it needs: the only file that knows them all.
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { createAgents } from './agents/agents.ts'
import { createAttempt } from './agents/attempt.ts'
import { createDeltas } from './agents/deltas.ts'
import { createGatewayVerbs } from './agents/gateway-verbs.ts'
import { createHeartbeat } from './agents/heartbeat.ts'
import { createModels } from './agents/models.ts'
import { createOutcome } from './agents/outcome.ts'
import { createRuns } from './agents/runs.ts'
import { createSchedules } from './agents/schedules.ts'
import { createStartedRuns } from './agents/started-runs.ts'
import { createTurn } from './agents/turn.ts'
import { createVerbs } from './agents/verbs.ts'
import { resolveCredential } from './config/credentials.ts'
import { secretValues } from './config/redaction.ts'
import { type Config, createConfigSchema } from './config/schema.ts'
import { createChat } from './control/chat.ts'
import { createEndpoints } from './control/endpoints.ts'
import { createLogNews } from './control/log-news.ts'
import { createMeters } from './control/meters.ts'
import { createMethods } from './control/methods.ts'
import { createMetrics } from './control/metrics.ts'
import { registerControl } from './control/routes.ts'
import { registerSocket, socketPath } from './control/socket.ts'
import { createTopics } from './control/topics.ts'
import { type Account, createConnections } from './delivery/connections.ts'
import { createInbound } from './delivery/inbound.ts'
import { createOutbox } from './delivery/outbox.ts'
import { createPost } from './delivery/post.ts'
import { createRecipients } from './delivery/recipient.ts'
import { createAgentBody } from './hooks/action.ts'
import { createDispatch } from './hooks/dispatch.ts'
import { createJournal } from './hooks/journal.ts'
import { createReplay } from './hooks/replay.ts'
import { registerHooks } from './hooks/routes.ts'
import { type CheckCredential, createCredentialCheck, createGatewayAuth } from './http/auth.ts'
import { registerHealth } from './http/health.ts'
import { listRoutes } from './http/route-list.ts'
import { createServer } from './http/server.ts'
import { createThrottle } from './http/throttle.ts'
import { isOwnToolset, type Parts } from './loader/registry.ts'
import type { InboundMessage, Log, PartState } from './plugin.ts'
import { createEvents } from './sessions/events.ts'
import { createSessionsView } from './sessions/sessions.ts'
import { createIds } from './store/ids.ts'
import { withNews } from './store/news.ts'
import { openStore } from './store/open.ts'
import type { Store } from './store/store.ts'
import { openCatalogue } from './tools/catalogue.ts'
import { createInvoke } from './tools/invoke.ts'
import { registerMcp } from './tools/mcp.ts'
import { createPolicy } from './tools/policy.ts'
import { createToolRequest } from './tools/request.ts'
import { registerTools } from './tools/routes.ts'

export interface GatewayOptions {
  config: Config
  /** The configuration directory: what every path in the config is relative to. */
  dir: string
  /** The configuration file, where there is one: what tools may change. */
  file?: string
  parts: Parts
  env: NodeJS.ProcessEnv
  /** A logger for one folder of the core. */
  logFor(room: string): Log
}

export interface Gateway {
  /** The HTTP server, listening or not. */
  app: FastifyInstance
  /** Opens the port and the channels, takes up what was left; resolves with the address. */
  listen(): Promise<string>
  /** Stops accepting, finishes what can be finished in `gateway.drainSeconds`, leaves the rest for the next start. */
  close(): Promise<void>
}

export async function createGateway({ config, dir, file, parts, env, ...options }: GatewayOptions): Promise<Gateway> {
  const { defaults } = config.agents
  const owner = randomUUID()
  const createId = createIds()
  const stop = new AbortController()
  let ready = false

  const { logFor, feed: logNews } = createLogNews({ logFor: options.logFor, level: config.log.level, secrets: () => secretsOf({ config, parts, env }) })
  const meters = createMeters()
  const { store, news } = withNews(meters.watch(await openStore({ url: config.storage.url, dir, log: logFor('store'), onCommit: meters.commits.observe })))
  const state = (part: string): PartState => createPartState(store, part)

  // Sessions and agents
  const events = createEvents({ store })
  const agents = createAgents(config, dir)
  const models = createModels({ config, providers: parts.providers, log: logFor('agents') })
  const modelRefs = new Map(agents.all.map((agent) => [agent.id, models.resolve(agent.model, agent).ref]))

  // Tools
  const catalogue = await openCatalogue({
    toolsets: parts.toolsets.values(),
    settings: (toolset) => (config.tools as Record<string, unknown>)[toolset] ?? {},
    context: (toolset) => ({ log: logFor('tools'), signal: stop.signal, state: state(`toolset:${toolset}`) }),
  })
  const policy = createPolicy({ config, catalogue, modelOf: (agentId) => modelRefs.get(agentId) ?? '', isForeign: (toolset) => !isOwnToolset(parts, toolset) })
  for (const problem of [...catalogue.problems, ...policy.problems]) logFor('tools').warn({}, problem)
  const invoke = createInvoke({ catalogue, policy, verbs: (call) => verbs(call), timeoutMs: config.tools.timeoutSeconds * 1000, log: logFor('tools') })

  // Runs, and what follows them
  const recipients = createRecipients({ store, channels: config.channels, loaded: new Set(parts.channels.keys()), mainSession: agents.default.mainSession })
  const runTurn = createTurn({ invoke, tools: (subject) => policy.listed(subject).map(({ tool }) => tool), log: logFor('agents') })
  const deltas = createDeltas()
  const runs = createRuns({
    store,
    events,
    attempt: createAttempt({ config, store, agents, models, runTurn, deltas, log: logFor('agents') }),
    outcome: createOutcome({ agents, recipients, createId }),
    onMessages: () => outbox.ring(),
    limits: { maxConcurrent: defaults.maxConcurrent, maxQueued: config.hooks.maxQueuedRuns },
    owner,
    log: logFor('agents'),
  })
  const heartbeat = createHeartbeat({ agents, events, runs, store, createId, maxAttempts: defaults.maxAttempts, log: logFor('agents') })

  // Channels
  const inbound = createInbound({ accept: runs.accept, agent: agents.default, maxAttempts: defaults.maxAttempts, createId, log: logFor('delivery') })
  const connections = createConnections({
    channels: parts.channels,
    config: config.channels,
    receive: (account: Account, message: InboundMessage) => inbound(account, message),
    onConnected: () => outbox.ring(),
    state,
    log: logFor('delivery'),
  })
  const outbox = createOutbox({ store, connections, owner, log: logFor('delivery') })

  // What tools may ask for
  const post = createPost({ store, recipients, accept: runs.accept, onMessages: () => outbox.ring(), createId })
  const startedRuns = createStartedRuns({ store, runs, agents, models, createId, limits: config.tools.subagents, maxAttempts: defaults.maxAttempts })
  const schedules = createSchedules({ store, runs, agents, post, createId, maxAttempts: defaults.maxAttempts, log: logFor('agents') })
  const gatewayVerbs = createGatewayVerbs({ config, file, parts, env, store, agents, connections })
  const verbs = createVerbs({ agents, sessions: createSessionsView(store), startedRuns, post, schedules, gateway: gatewayVerbs })

  // Doors
  const isReady = (): boolean => ready
  const app = createServer({ log: logFor('http'), trustedProxies: config.gateway.trustedProxies, isReady, socketPath })
  const routes = listRoutes(app)
  registerHealth(app, { isReady, probe: () => store.probe() })
  const checkCredential = credentialCheck(config, env)
  const auth = createGatewayAuth(checkCredential)
  registerTools(app, { auth, catalogue, policy, invoke, agents })
  const { allowedOrigins = [] } = config.gateway
  registerMcp(app, { auth, allowedOrigins, policy, invoke, agents })
  const { hooks } = config
  const agentBody = createAgentBody(parts.channels.keys())
  const journal = createJournal({ store, log: logFor('hooks') })
  const dispatch = createDispatch({ config, agents, models, recipients, runs, journal, createId })
  if (hooks.enabled && hooks.token !== undefined) {
    registerHooks(app, { hooks: { ...hooks, token: hooks.token }, agentBody, dispatch, journal, runs, createId })
  } else logFor('hooks').info({}, 'webhooks are off; hooks.enabled turns them on')
  const endpoints = createEndpoints({
    config,
    parts,
    store,
    runs,
    agents,
    replay: hooks.enabled ? createReplay({ dispatch, agentBody }) : undefined,
    ring: outbox.ring,
    connections: connections.states,
    tools: catalogue.list,
    routes,
  })
  registerControl(app, { auth, endpoints, routes, meters, metrics: createMetrics({ meters, store }) })
  const chat = createChat({ runs, agents, deltas, createId, maxAttempts: defaults.maxAttempts })
  const methods = createMethods({ chat, invokeTool: createToolRequest({ catalogue, invoke }), agents, endpoints })
  const sockets = registerSocket(app, { check: checkCredential, allowedOrigins, methods, topics: createTopics(news, logNews), log: logFor('control') })

  return {
    app,
    listen: async () => {
      // The port first: where another program has it, nothing must have begun. Until all is taken up, requests are answered 503.
      const address = await app.listen({ host: config.gateway.bind, port: config.gateway.port })
      await store.expireLeases()
      connections.open()
      await outbox.resume()
      await runs.resume()
      ready = true
      heartbeat.start()
      schedules.start()
      await events.ringWaiting()
      return address
    },
    close: async () => {
      const deadline = performance.now() + config.gateway.drainSeconds * 1000
      const left = (): number => Math.max(0, deadline - performance.now())
      ready = false
      heartbeat.close()
      const noneFires = schedules.close()
      const closed = app.close()
      // A connection that is kept alive after its last answer would hold the stop up.
      const sweep = setInterval(() => app.server.closeIdleConnections(), 20)
      await noneFires
      await runs.close(left())
      stop.abort()
      await outbox.close(left())
      await Promise.all([connections.close(), catalogue.close(), sockets.close(left())])
      const cut = setTimeout(() => app.server.closeAllConnections(), left())
      await closed
      clearTimeout(cut)
      clearInterval(sweep)
      await store.close()
    },
  }
}

function credentialCheck(config: Config, env: NodeJS.ProcessEnv): CheckCredential {
  const { value } = resolveCredential(config.gateway.auth, env)
  if (value === undefined) throw new Error('The gateway has no credential; set gateway.auth.token or SVC_GATEWAY_TOKEN.')
  const { rateLimit } = config.gateway.auth
  return createCredentialCheck({
    credential: value,
    exemptLoopback: rateLimit?.exemptLoopback ?? true,
    ...(rateLimit && { throttle: createThrottle(rateLimit) }),
  })
}

/** What no line of the log may show to a client. */
function secretsOf({ config, parts, env }: Pick<GatewayOptions, 'config' | 'parts' | 'env'>): string[] {
  const credential = resolveCredential(config.gateway.auth, env).value
  return [...secretValues(config, createConfigSchema(parts, config)), ...(credential === undefined ? [] : [credential])]
}

function createPartState(store: Store, part: string): PartState {
  return {
    get: (key) => store.getState(part, key),
    set: (key, value) => store.setState(part, key, value),
    delete: (key) => store.deleteState(part, key),
  }
}
