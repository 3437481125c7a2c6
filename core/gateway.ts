// Runs the gateway: what lasts as long as the process, the order of start and stop, and the change from one configuration to the next.
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { createDeltas } from './agents/deltas.ts'
import type { ReloadResult } from './agents/gateway-verbs.ts'
import { createRuns } from './agents/runs.ts'
import { readConfigFile } from './config/file.ts'
import { logSecrets, type Redactor } from './config/redaction.ts'
import { resolveConfig } from './config/resolve.ts'
import type { Config, LogConfig } from './config/schema.ts'
import { createLogNews } from './control/log-news.ts'
import { createMeters } from './control/meters.ts'
import { socketPath } from './control/socket.ts'
import { createConnections } from './delivery/connections.ts'
import { createOutbox } from './delivery/outbox.ts'
import { createGeneration, type Generation } from './generation.ts'
import { createJournal } from './hooks/journal.ts'
import { createSecretUse } from './hooks/secret-use.ts'
import { createHttpListener } from './http/server.ts'
import { createThrottle } from './http/throttle.ts'
import type { Parts } from './loader/registry.ts'
import type { Log, PartState } from './plugin.ts'
import { createEvents } from './sessions/events.ts'
import { createIds } from './store/ids.ts'
import { withNews } from './store/news.ts'
import { openStore } from './store/open.ts'
import { createRetention } from './store/retention.ts'
import type { Store } from './store/store.ts'

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
  /** Takes secrets out of the log; each new configuration adds its own. */
  redactor: Redactor
  /** Called when a new configuration changes `log.level`. */
  setLogLevel?(level: LogConfig['level']): void
}

export interface Gateway {
  /** The HTTP server of the first configuration: it owns the port. */
  app: FastifyInstance
  /** Opens the port and the channels, takes up what was left; resolves with the address. */
  listen(): Promise<string>
  /**
   * Reads the configuration file again and takes over what it says; requests and runs that have begun end under the old one.
   * @throws {ConfigError} when it is not valid: then everything stays as it is.
   */
  reload(): Promise<ReloadResult>
  /** Stops accepting, finishes what can be finished in `gateway.drainSeconds`, leaves the rest for the next start. */
  close(): Promise<void>
}

/** How long clients of the WebSocket may take to end their calls when the configuration changes; then they connect again. */
const graceMs = 5_000

/** What a running gateway cannot change: it keeps the old value until the next start. */
const fixed = ['gateway.port', 'gateway.bind', 'storage.url', 'plugins', 'log.pretty'] as const

export async function createGateway({ config, dir, file, parts, env, ...options }: GatewayOptions): Promise<Gateway> {
  const owner = randomUUID()
  const createId = createIds()
  let ready = false
  let current: Generation

  const { redactor, setLogLevel } = options
  const log = createLogNews({ logFor: options.logFor, level: config.log.level, redact: redactor.text })
  const { logFor } = log
  const meters = createMeters()
  const { store, news } = withNews(meters.watch(await openStore({ url: config.storage.url, dir, log: logFor('store'), onCommit: meters.commits.observe })))
  const state = (part: string): PartState => createPartState(store, part)
  const events = createEvents({ store })
  const deltas = createDeltas()

  const runs = createRuns({
    store,
    events,
    attempt: (run, stop) => current.attempt(run, stop),
    outcome: { resolve: (run, ended) => current.outcome.resolve(run, ended) },
    onMessages: () => outbox.ring(),
    limits: () => ({ maxConcurrent: current.config.agents.defaults.maxConcurrent, maxQueued: current.config.hooks.maxQueuedRuns }),
    owner,
    log: logFor('agents'),
  })
  const connections = createConnections({
    channels: parts.channels,
    config: config.channels,
    receive: (account, message) => current.receive(account, message),
    onConnected: () => outbox.ring(),
    state,
    log: logFor('delivery'),
  })
  const outbox = createOutbox({ store, connections, owner, log: logFor('delivery') })
  const journal = createJournal({ store, log: logFor('hooks') })
  const secretUse = createSecretUse({ store, log: logFor('hooks') })
  const retention = createRetention({ store, limits: () => current.config.storage.retention, log: logFor('store') })
  const listener = createHttpListener({ log: logFor('http'), socketPath })
  const throttles = {
    hooks: createThrottle({ limits: () => current.config.hooks.rateLimit }),
    gateway: createThrottle({ limits: () => current.config.gateway.auth.rateLimit }),
  }
  const reloads = inTurn(reload)
  const lasting = {
    dir,
    file,
    parts,
    env,
    logFor,
    logNews: log.feed,
    store,
    news,
    meters,
    state,
    createId,
    events,
    deltas,
    runs,
    connections,
    outbox,
    journal,
    listener,
  }
  const base = { ...lasting, secretUse, throttles, isReady: () => ready, reload: reloads }

  const first = await createGeneration(base, config)
  current = first

  async function reload(): Promise<ReloadResult> {
    if (file === undefined || !ready) return { restartFor: [] }
    const resolved = resolveConfig(readConfigFile(file, env), parts)
    redactor.hide(logSecrets(resolved, env))
    const { config: next, kept } = keepFixed(resolved.config, current.config)
    const previous = current
    const generation = await createGeneration(base, next, previous)
    await generation.app.ready()
    current = generation
    log.setLevel(next.log.level)
    setLogLevel?.(next.log.level)
    listener.switchTo((request, response) => generation.app.routing(request, response))
    await connections.update(next.channels)
    generation.start()
    runs.ring()
    outbox.ring()
    retention.ring()
    await events.ringWaiting()
    void retire(previous)
    logFor('config').info({ restartFor: kept }, 'the configuration was read again')
    return { restartFor: kept }
  }

  /** Its tools and its sandbox stay open until nothing of it is under way; where the next one uses them too, they stay. */
  async function retire(previous: Generation): Promise<void> {
    await Promise.all([previous.stop(), previous.disconnect(graceMs), previous.idle()])
    if (previous.tools !== current.tools) await previous.tools.close()
    if (previous.transforms !== current.transforms) await previous.transforms.sandbox.close()
  }

  return {
    app: first.app,
    listen: async () => {
      // The port first: where another program has it, nothing must have begun. Until all is taken up, requests are answered 503.
      const address = await first.app.listen({ host: config.gateway.bind, port: config.gateway.port })
      await store.expireLeases()
      connections.open()
      await outbox.resume()
      await runs.resume()
      ready = true
      current.start()
      retention.start()
      await events.ringWaiting()
      return address
    },
    reload: reloads,
    close: async () => {
      const deadline = performance.now() + current.config.gateway.drainSeconds * 1000
      const left = (): number => Math.max(0, deadline - performance.now())
      ready = false
      const stopped = current.stop()
      const closed = first.app.close()
      // A connection that is kept alive after its last answer would hold the stop up.
      const sweep = setInterval(() => first.app.server.closeIdleConnections(), 20)
      await Promise.all([stopped, retention.close()])
      await runs.close(left())
      await outbox.close(left())
      await Promise.all([connections.close(), current.tools.close(), current.disconnect(left())])
      const cut = setTimeout(() => first.app.server.closeAllConnections(), left())
      await closed
      clearTimeout(cut)
      clearInterval(sweep)
      await current.transforms.sandbox.close()
      await store.close()
    },
  }
}

/** One call after the other, so that two changes never cross. */
function inTurn<T>(call: () => Promise<T>): () => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return () => {
    const next = last.then(call)
    last = next.catch(() => undefined)
    return next
  }
}

/** The wanted configuration with what cannot change now as it was, and the names of those keys that would have changed. */
function keepFixed(wanted: Config, running: Config): { config: Config; kept: string[] } {
  const config: Config = {
    ...wanted,
    gateway: { ...wanted.gateway, port: running.gateway.port, bind: running.gateway.bind },
    storage: { ...wanted.storage, url: running.storage.url },
    plugins: running.plugins,
    log: { ...running.log, level: wanted.log.level },
  }
  return { config, kept: fixed.filter((key) => !isDeepStrictEqual(valueAt(wanted, key), valueAt(running, key))) }
}

const valueAt = (config: Config, path: string): unknown => path.split('.').reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], config)

function createPartState(store: Store, part: string): PartState {
  return {
    get: (key) => store.getState(part, key),
    set: (key, value) => store.setState(part, key, value),
    delete: (key) => store.deleteState(part, key),
  }
}
