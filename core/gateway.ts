// Runs the gateway: starts and stops it in order, and replaces the runtime when the configuration changes.
import { hostname } from 'node:os'
import { isDeepStrictEqual } from 'node:util'
import type { Worker } from 'node:worker_threads'
import type { FastifyInstance } from 'fastify'
import { type ConfigProblem, describeProblem } from './config/config-error.ts'
import { readConfigFile } from './config/file/read.ts'
import { logSecrets, type Redactor } from './config/redaction.ts'
import { resolveConfig, type ResolvedConfig } from './config/resolve.ts'
import { keepUntilRestart } from './config/restart-keys.ts'
import { toComparisonText } from './config/comparison-text.ts'
import type { Config, LogConfig } from './config/schema/schema.ts'
import { pageLink } from './control/page/endpoints.ts'
import { readVersion } from './version.ts'
import { describeError, GatewayError } from './errors.ts'
import { writeBigInts } from './json.ts'
import { findWarnings, resolveForRunning } from './findings.ts'
import type { Log } from './plugin/plugin.ts'
import type { ReloadResult } from './runtime/build-context.ts'
import { createRuntime, type Runtime } from './runtime/runtime.ts'
import { createSerialQueue } from './serial-queue.ts'
import { type Environment, openServices } from './services.ts'
import type { AuditSource } from './store/store.ts'
import { retryUntilStored } from './store/retry-until-stored.ts'
import { areTracesOn, openTracer, type Tracer, tracePackages } from './telemetry/tracer.ts'
import type { Policy } from './tools/policy.ts'

export interface GatewayOptions extends Environment {
  config: Config
  /** What `prepareStore` returned. Absent: nothing is prepared. */
  storeThread?: Worker | undefined
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
  /** Does the same, unless the last reload has applied what is in the file. */
  reloadIfChanged(): Promise<ReloadResult | undefined>
  /** The drain time of the configuration in force. */
  drainSeconds(): number
  /** Returns the path of the control page with a new one-time code, or undefined when the page is off. */
  issuePageLink(): string | undefined
  /**
   * Finds the warnings about the configuration that the gateway was started with, and logs them. A reload finds its own.
   */
  logWarnings(resolved: ResolvedConfig): void
  /**
   * Stops accepting work, finishes what it can within `gateway.drainSeconds`, and leaves the rest for the next start.
   */
  close(): Promise<void>
}

/** How long the calls of WebSocket clients may take to end after a reload. Then the clients must reconnect. */
const disconnectGraceMs = 5_000

const disconnectReasons = {
  reload: 'The configuration was reloaded; connect again.',
  stop: 'The gateway is stopping.',
}

/** A stop waits this long for the last spans, even if the drain time is over. */
const minFlushMs = 1_000

/** How often a failed store operation is retried. */
const storeRetryMs = 1_000

/**
 * Starts to open the store and builds the first runtime. Nothing else starts before `listen`. If this fails or the
 * signal aborts it, everything that was opened is closed.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  writeBigInts()
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
  let address = ''
  let current: Runtime
  let policy: Policy | undefined
  let reviewed: ResolvedConfig | undefined
  let warnings: readonly ConfigProblem[] = []
  /** The runtimes that a reload has replaced, each with the promise of its closing. */
  const retired = new Map<Runtime, Promise<void>>()
  /** What the last reload has applied, as the file had it. */
  let applied: Config | undefined

  const tracer = await openTraces({ env, extensions, log: logFor('telemetry') })
  if (tracer) opened.defer(() => tracer.close(minFlushMs))
  const services = openServices({ ...options, tracer, current: () => current, opened })
  const { logs, meters, storage, work, delivery, hooks, http } = services
  const log = logs.logFor('config')
  // One after another, so that two changes never overlap.
  const [starts, reloads] = [createSerialQueue(), createSerialQueue()]
  const countedReload = meters.countReloads(reload)
  const started = Promise.withResolvers<void>()
  const lifecycle = {
    findRefusal,
    stopping,
    started: started.promise,
    reload: () => reloads.add(countedReload),
    currentPolicy: () => policy,
    warnings: () => warnings,
  }
  // The store is opened in its own thread while the runtime is built.
  const first = await createRuntime({ services, lifecycle, config })
  current = first
  policy = first.policy

  function findRefusal(): GatewayError | undefined {
    if (!isReady) return new GatewayError('shutting_down')
    const fault = storage.findFault()
    return fault === undefined ? undefined : new GatewayError('store_unavailable', fault, { retryAfter: 60 })
  }

  async function reload(): Promise<ReloadResult> {
    if (file === undefined || !isReady) return { restartFor: [] }
    const document = readConfigFile(file, env)
    const resolved = await resolveForRunning(document, { extensions, plugins: current.config.plugins })
    redactor.hide(logSecrets(resolved, env))
    const { config: next, kept: restartFor } = keepUntilRestart(resolved.config, current.config)
    const previous = current
    const runtime = await createReady(next, previous)
    current = runtime
    policy = runtime.policy
    applied = resolved.config
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
    announce()
    log.info({ restartFor }, 'the configuration was reloaded')
    logWarnings(resolved)
    return { restartFor }
  }

  /** Runs in the background, because a transform may take seconds to load. */
  function logWarnings(resolved: ResolvedConfig): void {
    reviewed = resolved
    void findWarnings(resolved, { extensions, env, sandbox: current.transforms.sandbox }).then(
      (found) => {
        if (reviewed === resolved) warnings = found
        found.forEach((warning) => log.warn({}, describeProblem(warning)))
      },
      (error: unknown) => log.error(describeError(error), 'the configuration could not be checked for warnings'),
    )
  }

  /** Lets the other gateways on the store find out whether their configuration is the same. */
  function announce(): void {
    if (!storage.isShared) return
    const name = `${hostname()}:${new URL(address).port || '80'}`
    storage.replicas.announce({ name, config: toComparisonText(current.config, { extensions, env }) })
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
      await Promise.all([previous.stop(), previous.disconnect(disconnectGraceMs, disconnectReasons.reload)])
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
    address = await http.listener.listen({ host: config.gateway.bind, port: port ?? config.gateway.port })
    // Gateways on a shared store use the clock of the database.
    if (!storage.isShared) {
      await storage.store.expireLeases()
      await storage.clock.start()
    }
    stopping.throwIfAborted()
    delivery.connections.open()
    work.budgets.start()
    await Promise.all([delivery.outbox.resume(), work.runs.resume()])
    stopping.throwIfAborted()
    isReady = true
    started.resolve()
    current.start()
    hooks.jobs.open()
    storage.retention.start()
    work.approvals.start()
    work.leadership.start()
    requestWaitingWakes(current)
    announce()
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
    await Promise.all([
      current.stop(),
      hooks.jobs.close(),
      storage.retention.close(),
      work.approvals.close(),
      work.leadership.close(),
    ])
    storage.clock.close()
    hooks.requestLog.close()
    await work.runs.close(remainingMs())
    await work.budgets.close()
    await delivery.outbox.close(remainingMs())
    const cutoff = setTimeout(http.listener.closeAllConnections, remainingMs())
    await Promise.all([
      delivery.connections.close(),
      ...[current, ...retired.keys()].map((runtime) => runtime.disconnect(remainingMs(), disconnectReasons.stop)),
      closed,
    ])
    clearTimeout(cutoff)
    await Promise.all([current.close(), ...retired.values()])
    await tracer?.close(Math.max(minFlushMs, remainingMs()))
    await opened.disposeAsync()
  }

  /** Whoever can change the file has access to the machine. What else reloads it records its caller. */
  function reloadFile(): Promise<ReloadResult> {
    const source: AuditSource = { actor: { kind: 'local', name: 'configuration file' }, via: 'file' }
    return storage.audit.during(source, { action: 'config.reload' }, lifecycle.reload)
  }

  /** False if the file cannot be read or is not valid: a reload says why. */
  function isApplied(): boolean {
    if (file === undefined || applied === undefined) return false
    try {
      return isDeepStrictEqual(resolveConfig(readConfigFile(file, env), extensions).config, applied)
    } catch {
      return false
    }
  }

  let closing: Promise<void> | undefined
  return {
    app: first.app,
    listen: () => starts.add(start),
    reload: reloadFile,
    reloadIfChanged: async () => {
      await reloads.settled()
      // After a failed reload, the file may be as it was before.
      return isApplied() && meters.lastReload().isSuccessful ? undefined : await reloadFile()
    },
    drainSeconds: () => current.config.gateway.drainSeconds,
    issuePageLink: () => (current.config.gateway.page ? pageLink(http.signInCodes) : undefined),
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
