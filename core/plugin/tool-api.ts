// The tool API: the functions of the gateway that a tool can call. They are part of the contract.

/** A session in a list. */
export interface SessionSummary {
  /** `agent:<agentId>:<key>`, or `global`. */
  key: string
  agentId: string
  /** ISO 8601, UTC. */
  updatedAt: string
}

/** A session and its current state. */
export interface SessionStatus extends SessionSummary {
  /** Where the last message of this session came from. */
  lastRoute?: { channel: string; to: string; accountId?: string; threadId?: string }
  waitingEvents: number
  queuedRuns: number
  runningRuns: number
  transcriptMessages: number
}

/** One message of a conversation. Tool calls and results appear as JSON. */
export interface SessionMessage {
  role: 'user' | 'assistant' | 'tool'
  text: string
  /** ISO 8601, UTC. */
  at: string
  runId: string
}

/** Reads the sessions that the caller has access to. `main` is short for the key of the main session. */
export interface SessionsView {
  /** Returns the newest sessions first; `limit` is 1 to 200, default 50. */
  list(options?: { agentId?: string; limit?: number }): Promise<SessionSummary[]>
  /** @returns `undefined` if there is no such session. */
  status(key: string): Promise<SessionStatus | undefined>
  /**
   * Returns the newest messages, oldest first; `limit` is 1 to 200, default 50.
   * @returns `undefined` if there is no such session.
   */
  history(key: string, options?: { limit?: number }): Promise<SessionMessage[] | undefined>
}

/** A configured agent. */
export interface AgentSummary {
  id: string
  name: string
  default: boolean
  /** `<provider>/<model>` or an alias. */
  model: string
  mainSession: string
}

/** A run to start. */
export interface RunRequest {
  message: string
  /**
   * An existing session that the run belongs to. Absent: the run is a subagent with a session of its own, and the
   * caller's session gets a summary when it ends.
   */
  sessionKey?: string | undefined
  /** The agent of the subagent. Default: the agent of the caller. */
  agentId?: string | undefined
  /** The name of the run in its summary. */
  name?: string | undefined
  /** `<provider>/<model>` or an alias. Default: the model of the agent. */
  model?: string | undefined
  /** More than 0, at most 86 400. Default: the limit of the agent. */
  timeoutSeconds?: number | undefined
}

/** The state of a run. */
export interface RunReport {
  id: string
  /** `waiting`: a person must approve a call of one of its tools. */
  status: 'queued' | 'running' | 'waiting' | 'succeeded' | 'failed' | 'timed_out' | 'cancelled'
  reply?: string
  /** Why there is no reply. */
  error?: string
}

/**
 * Starts runs from a tool. Such a run may use only tools that its initiators may use, and it carries their provenance:
 * a run that a webhook started indirectly counts as a run of that webhook. Limits apply to the depth of subagents and
 * to the number of runs per session.
 */
export interface RunApi {
  /** Resolves when the run is on disk. Throws `InputError` for an unknown session, or if a limit is reached. */
  start(request: RunRequest): Promise<{ runId: string; sessionKey: string }>
  /** Waits until the run ends, at most `ms`. @returns `undefined` if there is no such run. */
  wait(runId: string, ms: number): Promise<RunReport | undefined>
}

/** A message to send on a channel. */
export interface DeliveryRequest extends DeliveryTarget {
  /** Markdown. It may be blank if there is a file. */
  text: string
  /** A file to send with it: its path in the workspace of the caller's agent. It is read when the message is sent. */
  file?: string | undefined
}

/** Where a message goes. */
export interface DeliveryTarget {
  /**
   * A channel, or `last`. Default: the channel that an HTTP client names in a header, else the last route of the
   * session, else that of the main session.
   */
  channel?: string | undefined
  /** The recipient. Default: the last one on that channel, else its `defaultTo`. */
  to?: string | undefined
  accountId?: string | undefined
  threadId?: string | undefined
}

/** The recipient and the id of a delivery. */
export interface DeliveryReceipt {
  id: string
  channel: string
  to: string
}

/** One entry of a folder. */
export interface WorkspaceEntry {
  name: string
  kind: 'file' | 'folder' | 'link' | 'other'
}

/**
 * The folder of the agent's files. Paths are relative to it and cannot leave it, also not through symbolic links. Every
 * function throws `InputError` for a path that cannot be used.
 */
export interface Workspace {
  /** The absolute path of the folder, which exists. A program that runs in it is not confined to it. */
  path(): Promise<string>
  /** Reads the first `maxBytes` of a regular file; `size` is its whole size in bytes. */
  read(path: string, limit: { maxBytes: number }): Promise<{ data: Uint8Array; size: number }>
  /** Creates or replaces a file atomically, and creates missing folders. At most 10 MiB. */
  write(path: string, data: string | Uint8Array): Promise<void>
  /** Lists a folder, sorted by name. */
  list(path: string): Promise<WorkspaceEntry[]>
}

/**
 * When a schedule fires: by a cron expression of five fields (`timezone` is an IANA name, default: the host's), at an
 * interval such as `30m`, or once.
 */
export type ScheduleTiming = { cron: string; timezone?: string | undefined } | { every: string } | { at: string }

/** A schedule to add. */
export interface ScheduleRequest {
  message: string
  name?: string | undefined
  timing: ScheduleTiming
  /** The recipient of replies, resolved when the schedule is added. `null`: replies are not delivered. */
  deliver: DeliveryTarget | null
  /** Longest duration of one run, in seconds. */
  timeoutSeconds?: number | undefined
}

/** A schedule. Times are in ISO 8601, UTC. */
export interface ScheduleSummary {
  id: string
  name: string
  message: string
  timing: ScheduleTiming
  nextAt: string
  /** The scheduled time of the last run. */
  lastAt?: string
}

/**
 * The schedules of the caller's agent. They survive restarts. A schedule that missed times while the gateway was down
 * fires once at startup.
 */
export interface ScheduleApi {
  /** Throws `InputError` for a timing that is not valid or never fires, or if the agent has too many schedules. */
  add(request: ScheduleRequest): Promise<ScheduleSummary>
  list(): Promise<ScheduleSummary[]>
  /** @returns `false` if there is no such schedule. */
  remove(id: string): Promise<boolean>
  /** Starts a run of it now; its times stay. @returns `undefined` if there is no such schedule. */
  run(id: string): Promise<{ runId: string; sessionKey: string } | undefined>
}

/** The state of the gateway. Times are in ISO 8601, UTC. */
export interface GatewayStatus {
  startedAt: string
  /** When the configuration was last reloaded. Absent: not since the start. */
  reloadedAt?: string
  queuedRuns: number
  agents: string[]
  /** Each account of each configured channel. */
  channels: { channel: string; accountId: string; connected: boolean }[]
}

/** Reads and changes the gateway. */
export interface GatewayApi {
  status(): Promise<GatewayStatus>
  /** Returns the running configuration with defaults. Every secret is replaced by `[redacted]`. */
  config(): Readonly<Record<string, unknown>>
  /**
   * Changes the configuration file: objects are merged, `null` removes a key, and anything else replaces a value.
   * Comments are kept. Throws `InputError` and writes nothing if the result is not valid or a key must not be changed
   * this way.
   * @returns the changed paths
   */
  patchConfig(changes: Readonly<Record<string, unknown>>): Promise<{ changed: string[] }>
  /**
   * Reloads the configuration file. Requests and runs that have begun end under the old configuration. The gateway also
   * reloads by itself when the file changes. Throws `InputError` and changes nothing if the file is not valid.
   * @returns the keys whose new values need a restart
   */
  reload(): Promise<{ restartFor: string[] }>
}

/**
 * What a call does that an injected instruction could abuse.
 * - `reads-private`: its result contains private data (files, conversations, an account).
 * - `sends`: its arguments reach other people or services (a message, a web address, a shared document).
 */
export type ToolEffect = 'reads-private' | 'sends'

/** The tool API. Every function acts on behalf of the caller of the tool. */
export interface ToolApi {
  sessions: SessionsView
  agents: { list(): AgentSummary[] }
  runs: RunApi
  /** Adds a message to the outbox. Resolves when it is on disk. Throws `InputError` if it cannot be delivered. */
  deliver(request: DeliveryRequest): Promise<DeliveryReceipt>
  /**
   * Returns whether a message would go to the recipient of this run's reply, or to the people whom this run answers.
   * Throws `InputError` if it cannot be delivered.
   */
  isReplyRoute(target: DeliveryTarget): Promise<boolean>
  /**
   * Returns whether a person or the operator has named this URL in what the calling turn was asked to do, or in the
   * instructions of the agent. No text from outside has then chosen it, so that a call of it sends nothing out.
   */
  isNamedUrl(url: string): boolean
  workspace: Workspace
  schedules: ScheduleApi
  gateway: GatewayApi
  /**
   * The headers that continue the trace of the call in a service that the configuration names. For an address that the
   * caller chose, pass `url`: the operator lists the hosts that get them in `telemetry.propagateTo`.
   * @returns `undefined` if the host is not listed, or the call has no trace
   */
  traceHeaders(url?: string | URL): Record<string, string> | undefined
}
