// Builds every part from the ground up and hands each what it needs: the only file that knows them all.
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { createAgents } from './agents/agents.ts'
import { createAttempt } from './agents/attempt.ts'
import { createHeartbeat } from './agents/heartbeat.ts'
import { createModels } from './agents/models.ts'
import { createOutcome } from './agents/outcome.ts'
import { createRuns } from './agents/runs.ts'
import { createTurn } from './agents/turn.ts'
import { resolveCredential } from './config/credentials.ts'
import type { Config } from './config/schema.ts'
import { createEndpoints } from './control/endpoints.ts'
import { createMeters } from './control/meters.ts'
import { createMetrics } from './control/metrics.ts'
import { registerControl } from './control/routes.ts'
import { type Account, createConnections } from './delivery/connections.ts'
import { createInbound } from './delivery/inbound.ts'
import { createOutbox } from './delivery/outbox.ts'
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
import { openStore } from './store/open.ts'
import type { Store } from './store/store.ts'
import { openCatalogue } from './tools/catalogue.ts'
import { createInvoke } from './tools/invoke.ts'
import { registerMcp } from './tools/mcp.ts'
import { createPolicy } from './tools/policy.ts'
import { registerTools } from './tools/routes.ts'

export interface GatewayOptions {
  config: Config
  /** The configuration directory: what every path in the config is relative to. */
  dir: string
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

export async function createGateway({ config, dir, parts, env, logFor }: GatewayOptions): Promise<Gateway> {
  const { defaults } = config.agents
  const owner = randomUUID()
  const createId = createIds()
  const stop = new AbortController()
  let ready = false

  const meters = createMeters()
  const store = meters.watch(await openStore({ url: config.storage.url, dir, log: logFor('store'), onCommit: meters.commits.observe }))
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
  const invoke = createInvoke({ catalogue, policy, sessions: createSessionsView(store), timeoutMs: config.tools.timeoutSeconds * 1000, log: logFor('tools') })

  // Runs, and what follows them
  const recipients = createRecipients({ store, channels: config.channels, loaded: new Set(parts.channels.keys()), mainSession: agents.default.mainSession })
  const runTurn = createTurn({ invoke, tools: (subject) => policy.listed(subject).map(({ tool }) => tool), log: logFor('agents') })
  const runs = createRuns({
    store,
    events,
    attempt: createAttempt({ config, store, agents, models, runTurn, log: logFor('agents') }),
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

  // Doors
  const isReady = (): boolean => ready
  const app = createServer({ log: logFor('http'), trustedProxies: config.gateway.trustedProxies, isReady })
  const routes = listRoutes(app)
  registerHealth(app, { isReady, probe: () => store.probe() })
  const checkCredential = credentialCheck(config, env)
  const auth = createGatewayAuth(checkCredential)
  registerTools(app, { auth, catalogue, policy, invoke, agents })
  registerMcp(app, { auth, allowedOrigins: config.gateway.allowedOrigins ?? [], policy, invoke, agents })
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
    replay: hooks.enabled ? createReplay({ dispatch, agentBody }) : undefined,
    ring: outbox.ring,
    connections: connections.states,
    tools: catalogue.list,
    routes,
  })
  registerControl(app, { auth, endpoints, routes, meters, metrics: createMetrics({ meters, store }) })

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
      await events.ringWaiting()
      return address
    },
    close: async () => {
      const deadline = performance.now() + config.gateway.drainSeconds * 1000
      const left = (): number => Math.max(0, deadline - performance.now())
      ready = false
      heartbeat.close()
      const closed = app.close()
      // A connection that is kept alive after its last answer would hold the stop up.
      const sweep = setInterval(() => app.server.closeIdleConnections(), 20)
      await runs.close(left())
      stop.abort()
      await outbox.close(left())
      await Promise.all([connections.close(), catalogue.close()])
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

function createPartState(store: Store, part: string): PartState {
  return {
    get: (key) => store.getState(part, key),
    set: (key, value) => store.setState(part, key, value),
    delete: (key) => store.deleteState(part, key),
  }
}
