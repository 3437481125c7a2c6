// Builds the services, which last as long as the process and survive a reload: the store, the queues, the channel
// connections, the HTTP listener.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { createReplyStreams, type ReplyStreams } from './agents/reply-stream.ts'
import type { GatewayError } from './errors.ts'
import type { Redactor } from './config/redaction.ts'
import type { Config } from './config/schema/schema.ts'
import { createMeters, type Meters } from './control/metrics/meters.ts'
import { createLogStream, type LogStream } from './control/ws/log-stream.ts'
import { socketPath } from './control/ws/socket.ts'
import { type Connections, createConnections } from './delivery/connections/connections.ts'
import { createDownloads, type Downloads } from './delivery/inbound/downloads.ts'
import type { Receive } from './delivery/inbound/inbound.ts'
import { createFailureEvents } from './delivery/outbox/failure-event.ts'
import { createLogins, type Logins } from './delivery/connections/login.ts'
import { createLoginTools, type LoginTools } from './delivery/connections/login-tools.ts'
import { createLateFailures } from './delivery/outbox/late-failures.ts'
import { createOutbox, type Outbox } from './delivery/outbox/outbox.ts'
import { createPairing, type Pairing } from './delivery/inbound/pairing.ts'
import { createReplyRoutes, type ReplyRoutes } from './delivery/reply-routes.ts'
import { createSecretUse, type SecretUse } from './hooks/auth/secret-use.ts'
import type { AcceptPayload } from './hooks/jobs/job.ts'
import { createJobs, type Jobs } from './hooks/jobs/jobs.ts'
import { createRequestLog, type RequestLog } from './hooks/request-log.ts'
import type { Listener } from './http/listener.ts'
import { createHttpListener } from './http/server.ts'
import { createThrottle, type Throttle } from './http/throttle.ts'
import type { Extensions } from './loader/registry.ts'
import { createLeadership } from './schedules/leadership.ts'
import type { ExtensionState, Log } from './plugin/plugin.ts'
import type { Attempt } from './runs/attempt.ts'
import type { Outcome } from './runs/outcome.ts'
import { createRunTracing, type RunTracing } from './runs/run-tracing.ts'
import { createRuns, type Runs } from './runs/runs.ts'
import { createEvents, type Events } from './sessions/events.ts'
import { createChangeEvents } from './store/commits/change-events.ts'
import type { StoreChanges } from './store/commits/changes.ts'
import { createOwnedLease, createSharedLeases } from './store/held-lease.ts'
import { openStore } from './store/open.ts'
import { createRetention, type Retention } from './store/retention.ts'
import type { NewEvent, Store } from './store/store.ts'
import { sendWorkMessages } from './store/commits/work-messages.ts'
import type { Replicas, Topic } from './store/replicas.ts'
import type { Tracer } from './telemetry/tracer.ts'
import { Type } from './typebox.ts'
import { readWorkspaceFile } from './tools/workspace.ts'

/** The environment in which the process was started. */
export interface Environment {
  /** The configuration directory, to which every path in the configuration is relative. */
  dir: string
  /** The configuration file, which tools may change. Absent when the configuration does not come from a file. */
  file?: string | undefined
  env: NodeJS.ProcessEnv
  extensions: Extensions
}

interface ServiceOptions extends Environment {
  config: Config
  /** Called if the gateway can do no further work, because its store was replaced. */
  onFatal?: ((error: GatewayError) => void) | undefined
  logFor(component: string): Log
  redactor: Redactor
  /** Absent: traces are off. */
  tracer?: Tracer | undefined
  /** Returns the current runtime. Not called before the first one is built. */
  current(): CurrentRuntime
  /** Collects what must be closed. */
  opened: AsyncDisposableStack
}

/** What the services need from the current runtime. */
export interface CurrentRuntime {
  config: Config
  attempt: Attempt
  outcome: Outcome
  receive: Receive
  acceptPayload: AcceptPayload
  /** The main session of the default agent. */
  mainSession: string
}

export interface Services {
  environment: Environment
  /** When the process started, in Unix milliseconds. */
  startedAt: number
  logs: LogStream
  /** Removes the secrets of the configuration. */
  redactor: Pick<Redactor, 'text' | 'json'>
  meters: Meters
  /** Absent: traces are off. */
  tracer: Tracer | undefined
  storage: {
    store: Store
    /** Resolves when the store is open, and rejects when it cannot be opened. */
    opened: Promise<unknown>
    /** The time of the store, which all gateways on it share. */
    now(): number
    /** Why the store cannot be used at the moment although it is open: a sentence. */
    findFault(): string | undefined
    /** True: other gateways may use the store at the same time. */
    isShared: boolean
    /** The other gateways on the same store. */
    replicas: Replicas
    changes: StoreChanges
    createId: () => string
    /** Returns the key-value state of one extension. */
    stateOf(owner: string): ExtensionState
    retention: Retention
  }
  work: {
    runs: Runs
    events: Events
    leadership: ReturnType<typeof createLeadership>
    replyStreams: ReplyStreams
    /** Absent: traces are off. */
    tracing: RunTracing | undefined
  }
  delivery: {
    connections: Connections
    logins: Logins
    loginTools: Pick<LoginTools, 'refresh'>
    outbox: Outbox
    replyRoutes: ReplyRoutes
    pairing: Pairing
    downloads: Downloads
  }
  hooks: { requestLog: RequestLog; secretUse: SecretUse; jobs: Jobs }
  http: {
    listener: Listener
    /** Failed attempts and lockouts, which a reload must not clear. */
    throttles: { hooks: Throttle; gateway: Throttle }
  }
}

/** Starts to open the store and builds the services. Each of them acts only after it is started. */
export function openServices(options: ServiceOptions): Services {
  const { config, dir, file, env, extensions, logFor, redactor, tracer, current, opened, onFatal } = options
  const owner = randomUUID()
  const createId = (): string => randomUUIDv7()
  const logs = createLogStream({ logFor, level: config.log.level, redact: redactor.text })
  const meters = createMeters()
  const opening = openStore({
    url: config.storage.url,
    dir,
    log: logs.logFor('store'),
    onCommit: meters.commits.observe,
    ...(onFatal && { onReplaced: onFatal }),
  })
  const { isShared, replicas } = opening
  const { store, commits } = opening
  const changes = createChangeEvents({ commits, store, replicas: isShared ? replicas : undefined })
  sendWorkMessages(commits, replicas)
  meters.count(opening)
  opened.defer(store.close)
  const stateOf = (extension: string): ExtensionState => createExtensionState(store, extension)
  const events = createEvents({ store })
  const tracing = tracer && createRunTracing({ tracer, store, config: () => current().config, redact: redactor.text })
  const runs = createRuns({
    store,
    events,
    attempt: (run, stop) => current().attempt(run, stop),
    outcome: { resolve: (run, ended) => current().outcome.resolve(run, ended) },
    onDeliveries: () => outbox.notify(),
    limits: () => ({
      maxConcurrent: current().config.agents.defaults.maxConcurrent,
      maxQueued: current().config.hooks.maxQueuedRuns,
    }),
    createId,
    owner,
    isShared,
    replicas,
    tracing,
    log: logs.logFor('agents'),
  })
  const createLease = isShared ? createSharedLeases({ store, owner, log: logs.logFor('store') }) : createOwnedLease
  const connections = createConnections({
    createLease,
    channels: extensions.channels,
    config: config.channels,
    receive: (account, message) => current().receive(account, message),
    reportLateFailure: (failure) => reportLateFailure(failure),
    onConnected: () => outbox.notify(),
    ...(isShared && { onTakenOver: (account) => outbox.takeOver(account) }),
    state: stateOf,
    findMissingPackages: ({ channel, settings }) => extensions.findPackages(channel, settings).missing,
    redact: redactor.text,
    log: logs.logFor('delivery'),
  })
  const logins = createLogins({
    connections,
    redact: redactor.text,
    hide: redactor.hideForNow,
    log: logs.logFor('delivery'),
  })
  const loginTools = createLoginTools(extensions, { logins, connections })
  const pairing = createPairing({
    store,
    accept: runs.accept,
    onDeliveries: () => outbox.notify(),
    createId,
    hide: redactor.hideForNow,
    log: logs.logFor('delivery'),
  })
  const failureEvents = {
    createFailureEvent: createFailureEvents({ store, mainSession: () => current().mainSession, createId }),
    onEvent: (event: NewEvent) => events.announce([event]),
  }
  const reportLateFailure = createLateFailures({ store, ...failureEvents, log: logs.logFor('delivery') })
  const outbox = createOutbox({
    store,
    connections,
    owner,
    ...failureEvents,
    readFile: readWorkspaceFile,
    onAttempt: tracing?.delivery,
    replicas: isShared ? replicas : undefined,
    log: logs.logFor('delivery'),
  })
  const retention = createRetention({
    store,
    limits: () => current().config.storage.retention,
    log: logs.logFor('store'),
  })
  const log = logs.logFor('hooks')
  const jobs = createJobs({
    presets: extensions.presets,
    hooks: config.hooks,
    createLease,
    replicas,
    accept: (...payload) => current().acceptPayload(...payload),
    state: stateOf,
    findMissingPackages: ({ preset, settings }) => extensions.findPackages(preset, settings).missing,
    redact: redactor.text,
    log,
  })
  return {
    environment: { dir, file, env, extensions: loginTools.extensions },
    startedAt: Date.now(),
    logs,
    redactor,
    meters,
    tracer,
    storage: {
      store,
      opened: opening.opened,
      now: opening.now,
      findFault: opening.findFault,
      isShared,
      replicas,
      changes,
      createId,
      stateOf,
      retention,
    },
    work: {
      runs,
      events,
      leadership: createLeadership({ events, createLease, replicas, isShared, log: logs.logFor('agents') }),
      replyStreams: createReplyStreams(),
      tracing,
    },
    delivery: {
      connections,
      logins,
      loginTools,
      outbox,
      replyRoutes: createReplyRoutes({ store }),
      pairing,
      downloads: createDownloads(),
    },
    hooks: { requestLog: createRequestLog({ store, log }), secretUse: createSecretUse({ store, log }), jobs },
    http: {
      listener: createHttpListener({ log: logs.logFor('http'), socketPath }),
      throttles: {
        hooks: shareThrottle('hooks', createThrottle({ limits: () => current().config.hooks.rateLimit }), replicas),
        gateway: shareThrottle(
          'gateway',
          createThrottle({ limits: () => current().config.gateway.auth.rateLimit }),
          replicas,
        ),
      },
    },
  }
}

/**
 * Counts the failures that other gateways on the same store report, too. A lockout ends in each gateway by itself: no
 * message lifts it.
 */
function shareThrottle(name: string, throttle: Throttle, replicas: Replicas): Throttle {
  const failed = {
    name: `${name} failure`,
    item: Type.Object({ key: Type.String(), number: Type.Integer() }),
  } satisfies Topic
  replicas.subscribe(failed, ({ key }) => throttle.recordFailure(key))
  /** Tells the failures apart: equal messages that are sent together count as one. */
  let number = 0
  return {
    ...throttle,
    recordFailure: (key) => {
      throttle.recordFailure(key)
      replicas.publish(failed, { key, number: number++ })
    },
  }
}

function createExtensionState(store: Store, owner: string): ExtensionState {
  return {
    get: (key) => store.getState(owner, key),
    set: (key, value) => store.setState(owner, key, value),
    delete: (key) => store.deleteState(owner, key),
  }
}
