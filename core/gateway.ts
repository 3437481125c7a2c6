// Runs the gateway: starts and stops it in order, and replaces the runtime when the configuration changes.
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { ConfigError, describeProblem } from './config/config-error.ts'
import { type ConfigDocument, readConfigFile } from './config/file/read.ts'
import { logSecrets, type Redactor } from './config/redaction.ts'
import type { ResolvedConfig } from './config/resolve.ts'
import { keepUntilRestart } from './config/restart-keys.ts'
import type { Config, LogConfig } from './config/schema/schema.ts'
import { readVersion } from './control/version.ts'
import { describeError, GatewayError } from './errors.ts'
import { findWarnings, resolveWithWarnings } from './findings.ts'
import type { Log } from './plugin/plugin.ts'
import type { ReloadResult } from './runtime/gateway-api.ts'
import { createRuntime, type Runtime } from './runtime/runtime.ts'
import { createSerialQueue } from './serial-queue.ts'
import { type Environment, openServices } from './services.ts'
import { retryUntilStored } from './store/retry-until-stored.ts'
import { areTracesOn, openTracer, type Tracer, tracePackages } from './telemetry/tracer.ts'

export interface GatewayOptions extends Environment {
  config: Config
  /** The port to listen on; overrides `gateway.port`. */
  port?: number | undefined
  /** Returns the logger of one component, which is a folder of the core. */
  logFor(component: string): Log
  /** Removes secrets from the log. A reload adds the secrets of the new configuration. */
  redactor: Redactor
  /** Called when a reload changes `log.level`. */
  setLogLevel?(level: LogConfig['level']): void
  /** Aborts the start. */
  signal?: AbortSignal
  /** Called if the gateway can do no further work, because its store was replaced. It must be closed. */
  onFatal?: (error: GatewayError) => void
}

export interface Gateway {
  /** The routes of the first configuration. */
  app: FastifyInstance
  /**
   * Waits for the store, opens the port and the channels, and resumes the work of the last process. Resolves with the
   * address.
   */
  listen(): Promise<string>
  /**
   * Reads the configuration file again and applies it. Requests and runs that have started end under the old one.
   * @throws {ConfigError} when the file is not valid. Then nothing changes.
   */
  reload(): Promise<ReloadResult>
  /** Logs the warnings about the configuration that the gateway was started with. A reload logs its own. */
  logWarnings(resolved: ResolvedConfig): void
  /**
   * Stops accepting work, finishes what it can within `gateway.drainSeconds`, and leaves the rest for the next start.
   */
  close(): Promise<void>
}

/** How long the calls of WebSocket clients may take to end after a reload. Then the clients must reconnect. */
const disconnectGraceMs = 5_000

/** A stop waits this long for the last spans, even if the drain time is over. */
const minFlushMs = 1_000

/** How often a failed store operation is retried. */
const storeRetryMs = 1_000

/**
 * Starts to open the store and builds the first runtime. Nothing else starts before `listen`. If this fails or the
 * signal aborts it, everything that was opened is closed.
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

async function open(options: GatewayOptions, opened: AsyncDisposableStack): Promise<Gateway> {
  const { config, file, port, extensions, env, redactor, logFor, setLogLevel, signal } = options
  const stop = new AbortController()
  const stopping = AbortSignal.any([stop.signal, ...(signal ? [signal] : [])])
  let isReady = false
  let current: Runtime
  /** The runtimes that a reload has replaced, each with the promise of its closing. */
  const retired = new Map<Runtime, Promise<void>>()

  const tracer = await openTraces({ env, extensions, log: logFor('telemetry') })
  if (tracer) opened.defer(() => tracer.close(minFlushMs))
  const services = openServices({ ...options, tracer, current: () => current, opened })
  const { logs, meters, storage, work, delivery, hooks, http } = services
  const log = logs.logFor('config')
  // One after another, so that two changes never overlap.
  const [starts, reloads] = [createSerialQueue(), createSerialQueue()]
  const measuredReload = meters.reload.instrument(reload)
  const started = Promise.withResolvers<void>()
  const lifecycle = { findRefusal, stopping, started: started.promise, reload: () => reloads.add(measuredReload) }
  // The store is opened in its own thread while the runtime is built.
  const first = await createRuntime({ services, lifecycle, config })
  current = first

  function findRefusal(): GatewayError | undefined {
    if (!isReady) return new GatewayError('shutting_down')
    const fault = storage.findFault()
    return fault === undefined ? undefined : new GatewayError('store_unavailable', fault, { retryAfter: 60 })
  }

  async function reload(): Promise<ReloadResult> {
    if (file === undefined || !isReady) return { restartFor: [] }
    const document = readConfigFile(file, env)
    const resolved = await resolveChanged(document)
    redactor.hide(logSecrets(resolved, env))
    const { config: next, kept: restartFor } = keepUntilRestart(resolved.config, current.config)
    const previous = current
    const runtime = await createReady(next, previous)
    current = runtime
    logs.setLevel(next.log.level)
    setLogLevel?.(next.log.level)
    http.listener.switchHandler((request, response) => runtime.app.routing(request, response))
    retire(previous)
    runtime.start()
    await Promise.all([delivery.connections.update(next.channels), hooks.jobs.update(next.hooks)])
    delivery.loginTools.refresh()
    work.runs.notify()
    delivery.outbox.notify()
    storage.retention.notify()
    requestWaitingWakes(runtime)
    log.info({ restartFor }, 'the configuration was reloaded')
    logWarnings(resolved)
    return { restartFor }
  }

  /** New plugins are loaded at the next start, so the sections of their extensions are unknown keys until then. */
  async function resolveChanged(document: ConfigDocument): Promise<ResolvedConfig> {
    try {
      return await resolveWithWarnings(document, extensions)
    } catch (error) {
      if (!(error instanceof ConfigError) || isDeepStrictEqual(document.plugins, current.config.plugins)) throw error
      const problem = 'has changed, which needs a restart; until then the extensions of new plugins are not known'
      const line = document.layout.lineOf(['plugins'])
      throw new ConfigError(error.file, [{ path: 'plugins', line, problem }, ...error.problems], error.warnings)
    }
  }

  /** Runs in the background, because a transform may take seconds to load. */
  function logWarnings(resolved: ResolvedConfig): void {
    void findWarnings(resolved, { extensions, env, sandbox: current.transforms.sandbox }).then(
      (warnings) => warnings.forEach((warning) => log.warn({}, describeProblem(warning))),
      (error: unknown) => log.error(describeError(error), 'the configuration could not be checked for warnings'),
    )
  }

  async function createReady(next: Config, previous: Runtime): Promise<Runtime> {
    const runtime = await createRuntime({ services, lifecycle, config: next, previous })
    try {
      await runtime.ready()
      stopping.throwIfAborted()
      return runtime
    } catch (error) {
      await runtime.close()
      throw error
    }
  }

  /** Closes the old runtime when nothing of it is under way any more. */
  function retire(previous: Runtime): void {
    const closeRuntime = async (): Promise<void> => {
      await Promise.all([previous.stop(), previous.disconnect(disconnectGraceMs)])
      await previous.close()
    }
    const closed = closeRuntime()
      .catch((error: unknown) => log.error(describeError(error), 'the old runtime could not be closed'))
      .finally(() => retired.delete(previous))
    retired.set(previous, closed)
  }

  /** Requests the wakes that are stored. Retries until the store answers or the runtime is replaced. */
  function requestWaitingWakes(runtime: Runtime): void {
    const retry = { everyMs: storeRetryMs, isGivenUp: () => stopping.aborted || current !== runtime }
    retryUntilStored(work.events.requestWaitingWakes, retry).catch((error: unknown) => {
      if (!retry.isGivenUp()) log.error(describeError(error), 'waiting events could not be read')
    })
  }

  async function start(): Promise<string> {
    await Promise.all([storage.opened, first.ready()])
    stopping.throwIfAborted()
    // Opens the port first: if another program has it, no work must have started. Requests get 503 until `isReady`.
    const address = await http.listener.listen({ host: config.gateway.bind, port: port ?? config.gateway.port })
    if (!storage.isShared) await storage.store.expireLeases()
    stopping.throwIfAborted()
    delivery.connections.open()
    await Promise.all([delivery.outbox.resume(), work.runs.resume()])
    stopping.throwIfAborted()
    isReady = true
    started.resolve()
    current.start()
    hooks.jobs.open()
    storage.retention.start()
    work.leadership.start()
    requestWaitingWakes(current)
    return address
  }

  async function close(): Promise<void> {
    const deadline = performance.now() + current.config.gateway.drainSeconds * 1000
    const remainingMs = (): number => Math.max(0, deadline - performance.now())
    stop.abort(new GatewayError('shutting_down'))
    isReady = false
    await starts.settled()
    const closed = http.listener.close()
    await reloads.settled()
    await Promise.all([current.stop(), hooks.jobs.close(), storage.retention.close(), work.leadership.close()])
    await work.runs.close(remainingMs())
    await delivery.outbox.close(remainingMs())
    const cutoff = setTimeout(http.listener.closeAllConnections, remainingMs())
    await Promise.all([
      delivery.connections.close(),
      ...[current, ...retired.keys()].map((runtime) => runtime.disconnect(remainingMs())),
      closed,
    ])
    clearTimeout(cutoff)
    await Promise.all([current.close(), ...retired.values()])
    await tracer?.close(Math.max(minFlushMs, remainingMs()))
    await opened.disposeAsync()
  }

  let closing: Promise<void> | undefined
  return {
    app: first.app,
    listen: () => starts.add(start),
    reload: lifecycle.reload,
    logWarnings,
    close: () => (closing ??= close()),
  }
}

/** Undefined if traces are off. If packages are missing, the warnings about the configuration name them. */
async function openTraces({
  env,
  extensions,
  log,
}: Pick<GatewayOptions, 'env' | 'extensions'> & { log: Log }): Promise<Tracer | undefined> {
  if (!areTracesOn(env) || extensions.findPackages(tracePackages, {}).missing !== undefined) return undefined
  return await openTracer({ env, version: readVersion(), log })
}
