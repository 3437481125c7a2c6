// Runs the gateway: what lasts as long as the process, the order of start and stop, and the change from one
// configuration to the next.
import { randomUUID } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { createReplyStreams } from './agents/reply-stream.ts'
import type { ReloadResult } from './runs/gateway-api.ts'
import { createRuns } from './runs/runs.ts'
import { describeProblem } from './config/config-error.ts'
import { readConfigFile } from './config/file/read.ts'
import { logSecrets, type Redactor } from './config/redaction.ts'
import { resolveConfig } from './config/resolve.ts'
import { keepUntilRestart } from './config/restart-keys.ts'
import type { Config, LogConfig } from './config/schema.ts'
import { createLogStream } from './control/ws/log-stream.ts'
import { createMeters } from './control/meters.ts'
import { socketPath } from './control/ws/socket.ts'
import { createConnections } from './delivery/connections.ts'
import { createOutbox } from './delivery/outbox.ts'
import { createReplyRoutes } from './delivery/reply-routes.ts'
import { describeError, GatewayError } from './errors.ts'
import { type CheckedConfig, findWarnings } from './findings.ts'
import { createRuntime, type Runtime } from './runtime.ts'
import { createRequestLog } from './hooks/request-log.ts'
import { createSecretUse } from './hooks/auth/secret-use.ts'
import { createHttpListener } from './http/server.ts'
import { createThrottle } from './http/throttle.ts'
import type { Extensions } from './loader/registry.ts'
import type { Log, ExtensionState } from './plugin.ts'
import { createEvents } from './sessions/events.ts'
import { createIds } from './store/ids.ts'
import { retryUntilStored } from './store/retry-until-stored.ts'
import { withChangeEvents } from './store/change-events.ts'
import { openStore } from './store/open.ts'
import { createRetention } from './store/retention.ts'
import type { Store } from './store/store.ts'

export interface GatewayOptions {
  config: Config
  /** The configuration directory: what every path in the config is relative to. */
  dir: string
  /** The configuration file, where there is one: what tools may change. */
  file?: string
  /** Where to listen instead of at `gateway.port`. */
  port?: number | undefined
  extensions: Extensions
  env: NodeJS.ProcessEnv
  /** A logger for one folder of the core. */
  logFor(component: string): Log
  /** Takes secrets out of the log; each new configuration adds its own. */
  redactor: Redactor
  /** Called when a new configuration changes `log.level`. */
  setLogLevel?(level: LogConfig['level']): void
  /** Ends a start that is under way. */
  signal?: AbortSignal
}

export interface Gateway {
  /** The routes of the first configuration. */
  app: FastifyInstance
  /** Opens the port and the channels, takes up what was left; resolves with the address. */
  listen(): Promise<string>
  /**
   * Reads the configuration file again and takes over what it says; requests and runs that have begun end under the old
   * one.
   * @throws {ConfigError} when it is not valid: then everything stays as it is.
   */
  reload(): Promise<ReloadResult>
  /** Logs what is worth a warning in the configuration that it was started with; a reload does so by itself. */
  logWarnings(checked: CheckedConfig): void
  /** Stops accepting, finishes what can be finished in `gateway.drainSeconds`, leaves the rest for the next start. */
  close(): Promise<void>
}

/**
 * How long clients of the WebSocket may take to end their calls when the configuration changes; then they connect
 * again.
 */
const graceMs = 5_000

/** A store that is away is asked again after this time. */
const retryMs = 1_000

/**
 * Opens the store and builds the first runtime; nothing begins by itself before `listen`. What fails, or is ended by
 * the signal, leaves nothing open.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const opened = new AsyncDisposableStack()
  try {
    return await open(options, opened)
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

async function open(
  { config, dir, file, port, extensions, env, signal, ...options }: GatewayOptions,
  opened: AsyncDisposableStack,
): Promise<Gateway> {
  const owner = randomUUID()
  const createId = createIds()
  const startedAt = Date.now()
  const stop = new AbortController()
  const stopping = AbortSignal.any([stop.signal, ...(signal ? [signal] : [])])
  let ready = false
  let current: Runtime
  /** Those that a reload has replaced, with their end. */
  const retired = new Map<Runtime, Promise<void>>()

  const { redactor, setLogLevel } = options
  const {
    logFor,
    feed: logStream,
    setLevel,
  } = createLogStream({
    logFor: options.logFor,
    level: config.log.level,
    redact: redactor.text,
  })
  const log = logFor('config')
  const meters = createMeters()
  const { store, changes } = withChangeEvents(
    meters.watch(
      await openStore({ url: config.storage.url, dir, log: logFor('store'), onCommit: meters.commits.observe }),
    ),
  )
  opened.defer(store.close)
  const state = (owner: string): ExtensionState => createExtensionState(store, owner)
  const events = createEvents({ store })
  const replyStreams = createReplyStreams()

  const runs = createRuns({
    store,
    events,
    attempt: (run, stop) => current.attempt(run, stop),
    outcome: { resolve: (run, ended) => current.outcome.resolve(run, ended) },
    onDeliveries: () => outbox.notify(),
    limits: () => ({
      maxConcurrent: current.config.agents.defaults.maxConcurrent,
      maxQueued: current.config.hooks.maxQueuedRuns,
    }),
    createId,
    owner,
    log: logFor('agents'),
  })
  const connections = createConnections({
    channels: extensions.channels,
    config: config.channels,
    receive: (account, message) => current.receive(account, message),
    onConnected: () => outbox.notify(),
    state,
    log: logFor('delivery'),
  })
  const outbox = createOutbox({ store, connections, owner, log: logFor('delivery') })
  const requestLog = createRequestLog({ store, log: logFor('hooks') })
  const secretUse = createSecretUse({ store, log: logFor('hooks') })
  const retention = createRetention({ store, limits: () => current.config.storage.retention, log: logFor('store') })
  const listener = createHttpListener({ log: logFor('http'), socketPath })
  const throttles = {
    hooks: createThrottle({ limits: () => current.config.hooks.rateLimit }),
    gateway: createThrottle({ limits: () => current.config.gateway.auth.rateLimit }),
  }
  const reloads = serialize(meters.reload.watch(reload))
  const starting = serialize(start)
  const replyRoutes = createReplyRoutes({ store })
  const processServices = {
    dir,
    file,
    extensions,
    env,
    logFor,
    logStream,
    store,
    changes,
    meters,
    state,
    createId,
    events,
    replyStreams,
    runs,
    connections,
    replyRoutes,
    outbox,
    requestLog,
    listener,
  }
  const services = {
    ...processServices,
    secretUse,
    throttles,
    startedAt,
    isReady: () => ready,
    stopping,
    reload: reloads.call,
  }

  const first = await createRuntime(services, config)
  current = first

  async function reload(): Promise<ReloadResult> {
    if (file === undefined || !ready) return { restartFor: [] }
    const document = readConfigFile(file, env)
    const resolved = resolveConfig(document, extensions)
    redactor.hide(logSecrets(resolved, env))
    const { config: next, kept } = keepUntilRestart(resolved.config, current.config)
    const previous = current
    const runtime = await createReady(next, previous)
    current = runtime
    setLevel(next.log.level)
    setLogLevel?.(next.log.level)
    listener.switchTo((request, response) => runtime.app.routing(request, response))
    retire(previous)
    runtime.start()
    await connections.update(next.channels)
    runs.notify()
    outbox.notify()
    retention.notify()
    requestWaitingWakes(runtime)
    log.info({ restartFor: kept }, 'the configuration was read again')
    logWarnings({ document, resolved })
    return { restartFor: kept }
  }

  /** Nobody waits for them: a transform may take seconds to load. */
  function logWarnings(checked: CheckedConfig): void {
    void findWarnings(checked, { extensions, sandbox: current.transforms.sandbox }).then(
      (warnings) => warnings.forEach((warning) => log.warn({}, describeProblem(warning))),
      (error: unknown) => log.error(describeError(error), 'the configuration could not be checked for warnings'),
    )
  }

  async function createReady(next: Config, previous: Runtime): Promise<Runtime> {
    const runtime = await createRuntime(services, next, previous)
    try {
      await runtime.app.ready()
      stopping.throwIfAborted()
      return runtime
    } catch (error) {
      await runtime.close()
      throw error
    }
  }

  /** It stays open until nothing of it is under way. */
  function retire(previous: Runtime): void {
    const end = async (): Promise<void> => {
      await Promise.all([previous.stop(), previous.disconnect(graceMs)])
      await previous.close()
    }
    const ended = end()
      .catch((error: unknown) =>
        log.error(describeError(error), 'what the old configuration had opened could not be closed'),
      )
      .finally(() => retired.delete(previous))
    retired.set(previous, ended)
  }

  /** The bells of a runtime that has just begun. They are on disk, so they are rung however long the store is away. */
  function requestWaitingWakes(runtime: Runtime): void {
    const patience = { everyMs: retryMs, givenUp: () => stopping.aborted || current !== runtime }
    retryUntilStored(events.requestWaitingWakes, patience).catch((error: unknown) => {
      if (!patience.givenUp()) log.error(describeError(error), 'waiting events could not be looked at')
    })
  }

  async function start(): Promise<string> {
    await first.app.ready()
    stopping.throwIfAborted()
    // The port first: where another program has it, nothing must have begun. Until all is taken up, requests are
    // answered 503.
    const address = await listener.listen({ host: config.gateway.bind, port: port ?? config.gateway.port })
    await store.expireLeases()
    stopping.throwIfAborted()
    connections.open()
    await outbox.resume()
    await runs.resume()
    stopping.throwIfAborted()
    ready = true
    current.start()
    retention.start()
    requestWaitingWakes(current)
    return address
  }

  async function close(): Promise<void> {
    const deadline = performance.now() + current.config.gateway.drainSeconds * 1000
    const left = (): number => Math.max(0, deadline - performance.now())
    stop.abort(new GatewayError('shutting_down'))
    ready = false
    await starting.settled()
    const closed = listener.close()
    await reloads.settled()
    await Promise.all([current.stop(), retention.close()])
    await runs.close(left())
    await outbox.close(left())
    const cut = setTimeout(listener.cut, left())
    await Promise.all([
      connections.close(),
      ...[current, ...retired.keys()].map((runtime) => runtime.disconnect(left())),
      closed,
    ])
    clearTimeout(cut)
    await Promise.all([current.close(), ...retired.values()])
    await opened.disposeAsync()
  }

  let closing: Promise<void> | undefined
  return {
    app: first.app,
    listen: starting.call,
    reload: reloads.call,
    logWarnings,
    close: () => (closing ??= close()),
  }
}

/** One call after the other, so that two changes never cross. */
function serialize<T>(call: () => Promise<T>): { call: () => Promise<T>; settled: () => Promise<unknown> } {
  let last: Promise<unknown> = Promise.resolve()
  return {
    call: () => {
      const next = last.then(call)
      last = next.catch(() => undefined)
      return next
    },
    settled: () => last,
  }
}

function createExtensionState(store: Store, owner: string): ExtensionState {
  return {
    get: (key) => store.getState(owner, key),
    set: (key, value) => store.setState(owner, key, value),
    delete: (key) => store.deleteState(owner, key),
  }
}
