// Builds the services, which last as long as the process and survive a reload: the store, the queues, the channel
// connections, the HTTP listener.
import { createFileSources, type FileSources } from './tools/file-sources.ts'
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import type { Worker } from 'node:worker_threads'
import { createReplyStreams, type ReplyStreams } from './agents/reply-stream.ts'
import { createAlerts } from './budgets/alerts.ts'
import { type Budgets, createBudgets } from './budgets/budgets.ts'
import { type Approvals, createApprovals } from './approvals/approvals.ts'
import { type ChatAnswers, createChatAnswers } from './approvals/chat-answers.ts'
import type { GatewayError } from './errors.ts'
import type { Redactor } from './config/redaction.ts'
import type { Config } from './config/schema/schema.ts'
import { type ClientUse, createClientUse } from './control/client-use.ts'
import { createMeters, type Meters } from './control/metrics/meters.ts'
import { createLogStream, type LogStream } from './control/ws/log-stream.ts'
import { createSignInCodes, type SignInCodes } from './control/page/sign-in.ts'
import { socketPath } from './control/ws/socket.ts'
import { type Connections, createConnections } from './delivery/connections/connections.ts'
import { createDownloads, type Downloads } from './delivery/inbound/downloads.ts'
import type { Receive } from './delivery/inbound/inbound.ts'
import type { Recipients } from './delivery/recipient.ts'
import { createFailureEvents } from './delivery/outbox/failure-event.ts'
import { createLogins, type Logins } from './delivery/connections/login.ts'
import { createLoginTools, type LoginTools } from './delivery/connections/login-tools.ts'
import { createLateFailures, type ReportLateFailure } from './delivery/outbox/late-failures.ts'
import { createOutbox, type Outbox } from './delivery/outbox/outbox.ts'
import { createIdentities, type Identities } from './delivery/inbound/identities.ts'
import { createPairing, type Pairing } from './delivery/inbound/pairing.ts'
import { createSenderRights, type SenderRights } from './delivery/inbound/sender-rights.ts'
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
import { createStarterRights, type StarterRights } from './runs/starter-rights.ts'
import { createEvents, type Events } from './sessions/events.ts'
import { createChangeEvents } from './store/commits/change-events.ts'
import type { StoreChanges } from './store/commits/changes.ts'
import type { Commits } from './store/commits/commits.ts'
import { type AuditLog, createAuditLog } from './store/audit-log.ts'
import { createOwnedLease, type CreateLease, createSharedLeases } from './store/held-lease.ts'
import { openStore } from './store/open.ts'
import { type ClockWatch, createClockWatch } from './store/clock-watch.ts'
import { createRetention, type Retention } from './store/retention.ts'
import type { NewEvent, Store } from './store/store.ts'
import { sendWorkMessages } from './store/commits/work-messages.ts'
import type { Replicas, Topic } from './store/replicas.ts'
import type { Tracer } from './telemetry/tracer.ts'
import { Type } from './typebox.ts'
import type { Policy } from './tools/policy.ts'
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
  /** What `prepareStore` returned. */
  storeThread?: Worker | undefined
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
  resolveRecipient: Recipients['resolve']
  /** The main session of the default agent. */
  mainSession: string
  /** The tool policy of its configuration. */
  policy: Policy
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
    /** Records in the store's audit log. */
    audit: AuditLog
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
    clock: ClockWatch
    /** Where the texts of workspace files came from. */
    files: FileSources
  }
  work: {
    runs: Runs
    budgets: Budgets
    events: Events
    leadership: ReturnType<typeof createLeadership>
    replyStreams: ReplyStreams
    approvals: Approvals
    starterRights: StarterRights
    chatAnswers: ChatAnswers
    /** Absent: traces are off. */
    tracing: RunTracing | undefined
  }
  delivery: {
    connections: Connections
    logins: Logins
    loginTools: Pick<LoginTools, 'refresh'>
    outbox: Outbox
    replyRoutes: ReplyRoutes
    identities: Identities
    pairing: Pairing
    downloads: Downloads
  }
  hooks: { requestLog: RequestLog; secretUse: SecretUse; jobs: Jobs }
  http: {
    listener: Listener
    /** Failed attempts and lockouts, which a reload must not clear. */
    throttles: { hooks: Throttle; gateway: Throttle }
    /** The codes of the links that sign a browser tab in. */
    signInCodes: SignInCodes
    clientUse: ClientUse
  }
}

/** Starts to open the store and builds the services. Each of them acts only after it is started. */
export function openServices(options: ServiceOptions): Services {
  const { config, dir, file, env, redactor, tracer, logFor } = options
  const logs = createLogStream({ logFor, level: config.log.level, redact: redactor.text })
  const meters = createMeters()
  const { storage, commits } = openStorage(options, {
    logs,
    meters,
    onSetBack: () => {
      work.runs.recheckTimes()
      work.approvals.recheckTimes()
      delivery.outbox.notify()
    },
  })
  const owner = randomUUID()
  const context: ServiceContext = {
    ...options,
    logFor: logs.logFor,
    storage,
    commits,
    owner,
    createLease: chooseLeases(storage, { owner, log: logs.logFor('store') }),
    // The areas notify each other, so each of them finds the others when it acts.
    notifyRuns: () => work.runs.notify(),
    notifyOutbox: () => delivery.outbox.notify(),
    senderRights: createSenderRights({
      config: () => options.current().config,
      pairing: {
        isApproved: (account, senders) => delivery.pairing.isApproved(account, senders),
        isKnownAsApproved: (account, senders) => delivery.pairing.isKnownAsApproved(account, senders),
      },
    }),
  }
  const work = buildWork(context)
  const delivery = buildDelivery(context, work)
  return {
    environment: { dir, file, env, extensions: delivery.loginTools.extensions },
    startedAt: Date.now(),
    logs,
    redactor,
    meters,
    tracer,
    storage,
    work,
    delivery,
    hooks: buildHooks(context),
    http: buildHttp(context),
  }
}

/** What the services of an area are built with. */
interface ServiceContext extends ServiceOptions {
  storage: Services['storage']
  commits: Commits
  /** The name of this process in the store. */
  owner: string
  createLease: CreateLease
  notifyRuns(): void
  notifyOutbox(): void
  senderRights: SenderRights
}

// ── Storage ──────────────────────────────────────────────────────────────────────────────────────

function openStorage(
  options: ServiceOptions,
  { logs, meters, onSetBack }: Pick<Services, 'logs' | 'meters'> & { onSetBack(): void },
) {
  const { config, dir, storeThread, current, opened, onFatal } = options
  const log = logs.logFor('store')
  const onCommit = meters.countCommit
  const opening = openStore({ url: config.storage.url, dir, log, thread: storeThread, onCommit, onReplaced: onFatal })
  const { store, commits, isShared, replicas, now, findFault } = opening
  const audit = createAuditLog({ store, log })
  const changes = createChangeEvents({ commits, store, replicas })
  sendWorkMessages(commits, replicas)
  meters.countCommitted(opening)
  opened.defer(store.close)
  const storage: Services['storage'] = {
    store,
    audit,
    opened: opening.opened,
    now,
    findFault,
    isShared,
    replicas,
    changes,
    createId: () => randomUUIDv7(),
    stateOf: (extension) => createExtensionState(store, extension),
    files: createFileSources(store),
    clock: createClockWatch({ store, onSetBack, log }),
    retention: createRetention({ store, limits: () => current().config.storage.retention, log }),
  }
  return { storage, commits }
}

function createExtensionState(store: Store, owner: string): ExtensionState {
  return {
    get: (key) => store.getState(owner, key),
    set: (key, value) => store.setState(owner, key, value),
    delete: (key) => store.deleteState(owner, key),
  }
}

/** Gateways on the same store agree on who has a lease. */
const chooseLeases = (
  { store, isShared }: Services['storage'],
  { owner, log }: Pick<ServiceContext, 'owner'> & { log: Log },
): CreateLease => (isShared ? createSharedLeases({ store, owner, log }) : createOwnedLease)

// ── Work: runs, and what limits, starts or interrupts them ───────────────────────────────────────

function buildWork(context: ServiceContext): Services['work'] {
  const { storage, createLease, tracer, extensions, redactor, current, logFor } = context
  const { store, replicas, isShared, now } = storage
  const events = createEvents({ store, now })
  const tracing =
    tracer &&
    createRunTracing({
      tracer,
      store,
      config: () => current().config,
      providers: extensions.providers,
      redact: redactor.text,
    })
  const leadership = createLeadership({ events, createLease, replicas, isShared, log: logFor('agents') })
  const budgets = buildBudgets(context, leadership)
  const approvals = buildApprovals(context)
  return {
    runs: buildRuns(context, { budgets, events, tracing }),
    budgets,
    events,
    leadership,
    replyStreams: createReplyStreams(),
    approvals,
    starterRights: createStarterRights({
      config: () => current().config,
      senderRights: context.senderRights,
      now,
    }),
    chatAnswers: createChatAnswers({
      store,
      approvals,
      config: () => current().config,
      policy: () => current().policy,
      channels: extensions.channels,
      throttle: createThrottle({ limits: () => wrongCodes }),
      log: logFor('delivery'),
    }),
    tracing,
  }
}

/** So often a sender may type a wrong code before no answer of it counts for a while. */
const wrongCodes = { maxAttempts: 5, windowMs: 10 * 60_000, lockoutMs: 10 * 60_000 }

function buildBudgets(
  { storage, commits, current, notifyRuns, notifyOutbox, logFor }: ServiceContext,
  { isHeld }: Pick<Services['work']['leadership'], 'isHeld'>,
): Budgets {
  const { store, replicas, now, createId } = storage
  const log = logFor('budgets')
  const alerts = createAlerts({
    store,
    recipient: () => current().config.alerts ?? current().config.hooks.onFailure,
    resolve: (recipient) => current().resolveRecipient(recipient),
    timezone: () => budgets.timezone(),
    onDeliveries: notifyOutbox,
    createId,
    now,
    log,
  })
  const budgets: Budgets = createBudgets({
    store,
    commits,
    replicas,
    isShared: storage.isShared,
    now,
    isLeader: isHeld,
    alerts,
    onReleased: notifyRuns,
    log,
  })
  return budgets
}

function buildRuns(
  { storage, owner, current, notifyOutbox, logFor }: ServiceContext,
  work: Pick<Services['work'], 'budgets' | 'events' | 'tracing'>,
): Runs {
  const { store, createId, isShared, replicas } = storage
  return createRuns({
    ...work,
    store,
    attempt: (run, stop) => current().attempt(run, stop),
    outcome: { resolve: (run, ended) => current().outcome.resolve(run, ended) },
    onDeliveries: notifyOutbox,
    limits: () => ({
      maxConcurrent: current().config.agents.defaults.maxConcurrent,
      maxQueued: current().config.hooks.maxQueuedRuns,
    }),
    createId,
    owner,
    isShared,
    replicas,
    log: logFor('agents'),
  })
}

function buildApprovals(context: ServiceContext): Approvals {
  const { storage, extensions, redactor, current, notifyRuns, notifyOutbox, logFor } = context
  return createApprovals({
    store: storage.store,
    config: () => current().config,
    resolveRecipient: (recipient) => current().resolveRecipient(recipient),
    isShared: storage.isShared,
    channels: extensions.channels,
    redactor,
    onRequeued: notifyRuns,
    onDeliveries: notifyOutbox,
    createId: storage.createId,
    now: storage.now,
    log: logFor('agents'),
  })
}

// ── Delivery ─────────────────────────────────────────────────────────────────────────────────────

function buildDelivery(context: ServiceContext, { runs, events, tracing }: Services['work']) {
  const { storage, owner, extensions, redactor, current, senderRights, notifyOutbox, logFor } = context
  const { store, audit, createId, isShared, replicas } = storage
  const log = logFor('delivery')
  const failureEvents = {
    createFailureEvent: createFailureEvents({ store, mainSession: () => current().mainSession, createId }),
    onEvent: (event: NewEvent) => events.announce([event]),
  }
  const identities = createIdentities({ store })
  const connections = buildConnections(context, {
    reportLateFailure: createLateFailures({ store, ...failureEvents, redact: redactor.text, log }),
    takeOver: (account) => outbox.takeOver(account),
    moveGroup: identities.moveGroup,
  })
  const logins = createLogins({ connections, redact: redactor.text, hide: redactor.hideForNow, log })
  const loginTools = createLoginTools(extensions, { logins, audit, connections })
  const pairing = createPairing({
    store,
    accept: runs.accept,
    onDeliveries: notifyOutbox,
    createId,
    hide: redactor.hideForNow,
    log,
  })
  const outbox: Outbox = createOutbox({
    store,
    connections,
    owner,
    resolve: (recipient) => current().resolveRecipient(recipient),
    ...failureEvents,
    readFile: readWorkspaceFile,
    redact: redactor.text,
    onAttempt: tracing?.delivery,
    replicas: isShared ? replicas : undefined,
    log,
  })
  const replyRoutes = createReplyRoutes({ store, senderRights })
  return { connections, logins, loginTools, outbox, replyRoutes, identities, pairing, downloads: createDownloads() }
}

interface AccountEvents {
  reportLateFailure: ReportLateFailure
  /** Another gateway has had the account before. */
  takeOver: Outbox['takeOver']
  moveGroup: Identities['moveGroup']
}

function buildConnections(
  { storage, createLease, config, extensions, redactor, current, notifyOutbox, logFor }: ServiceContext,
  { reportLateFailure, takeOver, moveGroup }: AccountEvents,
): Connections {
  return createConnections({
    createLease,
    channels: extensions.channels,
    config: config.channels,
    receive: (account, message) => current().receive(account, message),
    reportLateFailure,
    moveGroup,
    onConnected: notifyOutbox,
    ...(storage.isShared && { onTakenOver: takeOver }),
    state: storage.stateOf,
    findMissingPackages: ({ channel, settings }) => extensions.findPackages(channel, settings).missing,
    redact: redactor.text,
    log: logFor('delivery'),
  })
}

// ── Hooks and HTTP ───────────────────────────────────────────────────────────────────────────────

function buildHooks(context: ServiceContext): Services['hooks'] {
  const { storage, createLease, config, extensions, redactor, current, logFor } = context
  const { store, replicas, stateOf } = storage
  const log = logFor('hooks')
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
    requestLog: createRequestLog({ store, redact: redactor.text, log }),
    secretUse: createSecretUse({ store, log }),
    jobs,
  }
}

function buildHttp({ storage: { store, replicas }, current, logFor }: ServiceContext): Services['http'] {
  const log = logFor('http')
  const hooks = createThrottle({ limits: () => current().config.hooks.rateLimit })
  const gateway = createThrottle({ limits: () => current().config.gateway.auth.rateLimit })
  return {
    listener: createHttpListener({ log, socketPath }),
    signInCodes: createSignInCodes(),
    clientUse: createClientUse({ store, log }),
    throttles: {
      hooks: shareThrottle('hooks', hooks, replicas),
      gateway: shareThrottle('gateway', gateway, replicas),
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
