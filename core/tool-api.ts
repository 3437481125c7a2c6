// The tool API: what a tool may ask of the gateway. It belongs to the contract and is kept in a file of its own.

/** One session, as a list shows it. */
export interface SessionSummary {
  /** `agent:<agentId>:<key>`, or `global`. */
  key: string
  agentId: string
  /** ISO 8601, UTC. */
  updatedAt: string
}

/** One session and what is going on in it. */
export interface SessionStatus extends SessionSummary {
  /** Where the last message of this session came from. */
  lastRoute?: { channel: string; to: string; accountId?: string; threadId?: string }
  waitingEvents: number
  queuedRuns: number
  runningRuns: number
  transcriptMessages: number
}

/** One message of a conversation. What tools were asked and answered is in it as JSON. */
export interface SessionMessage {
  role: 'user' | 'assistant' | 'tool'
  text: string
  /** ISO 8601, UTC. */
  at: string
  runId: string
}

/** The sessions that the caller may look at. A key may be written as `main`. */
export interface SessionsView {
  /** Newest first; `limit` 1 to 200, default 50. */
  list(options?: { agentId?: string; limit?: number }): Promise<SessionSummary[]>
  /** @returns `undefined` when there is no such session. */
  status(key: string): Promise<SessionStatus | undefined>
  /**
   * The newest messages, oldest first; `limit` 1 to 200, default 50. @returns `undefined` when there is no such
   * session.
   */
  history(key: string, options?: { limit?: number }): Promise<SessionMessage[] | undefined>
}

/** One agent of the configuration. */
export interface AgentSummary {
  id: string
  name: string
  default: boolean
  /** `<provider>/<model>` or an alias. */
  model: string
  mainSession: string
}

/** Work for an agent. */
export interface RunRequest {
  message: string
  /**
   * Says it in this session, which must exist. Left out: a subagent does it in a session of its own, and its end is
   * announced in the caller's session.
   */
  sessionKey?: string | undefined
  /** The agent whose subagent it is; left out: the caller's own. */
  agentId?: string | undefined
  /** What the work is called where its end is announced. */
  name?: string | undefined
  /** `<provider>/<model>` or an alias; left out: the agent's own. */
  model?: string | undefined
  /** More than 0, at most 86 400; left out: the agent's own limit. */
  timeoutSeconds?: number | undefined
}

/** A run, as far as whoever started it can know. */
export interface RunReport {
  id: string
  status: 'queued' | 'running' | 'succeeded' | 'failed' | 'timed_out' | 'cancelled'
  reply?: string
  /** Why there is no reply. */
  error?: string
}

/**
 * Runs that a tool starts. Such a run may use no tool that its starter may not use, remembers whether a webhook stands
 * at its beginning, and counts: how deep subagents are nested, how far a message was handed on, how many of them a
 * session has under way.
 */
export interface RunApi {
  /** Resolves when the run is on disk. Throws `InputError` for an unknown session, and where a limit is reached. */
  start(request: RunRequest): Promise<{ runId: string; sessionKey: string }>
  /** The run once it has ended, or as it is after `ms`. @returns `undefined` when there is no such run. */
  wait(runId: string, ms: number): Promise<RunReport | undefined>
}

/** Something to say on a channel. */
export interface DeliveryRequest {
  text: string
  /** A channel, or `last`; left out: where the session last heard from, else where the main session did. */
  channel?: string | undefined
  /** The recipient; left out: the last one on that channel, else its `defaultTo`. */
  to?: string | undefined
  accountId?: string | undefined
  threadId?: string | undefined
}

/** Where something will be said, and the id of its delivery. */
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
 * The folder of the agent's files. Paths are relative to it, and stay in it: what a link really leads to counts, also
 * one that is swapped in meanwhile. Every function throws `InputError` for a path that cannot be used.
 */
export interface Workspace {
  /** The folder itself, absolute; it exists. For what needs a working directory: what runs there is not confined. */
  path(): Promise<string>
  /** The first `maxBytes` of a plain file, and its whole size in bytes. */
  read(path: string, limit: { maxBytes: number }): Promise<{ data: Uint8Array; size: number }>
  /** Replaces or makes a file, whole or not at all, with the folders on its way; at most 10 MiB. */
  write(path: string, data: string | Uint8Array): Promise<void>
  /** What lies in a folder, by name. */
  list(path: string): Promise<WorkspaceEntry[]>
}

/**
 * When a schedule fires: by a cron expression of five fields (in `timezone`, an IANA name; left out: the host's), every
 * `30m`, or once.
 */
export type ScheduleTiming = { cron: string; timezone?: string | undefined } | { every: string } | { at: string }

/** Work that begins by itself. */
export interface ScheduleRequest {
  message: string
  name?: string | undefined
  timing: ScheduleTiming
  /** Where replies go, as in `DeliveryRequest`, settled when the schedule is added; null: nowhere. */
  deliver: Omit<DeliveryRequest, 'text'> | null
  /** Longest time of one run, in seconds. */
  timeoutSeconds?: number | undefined
}

/** One schedule. Times are ISO 8601, UTC. */
export interface ScheduleSummary {
  id: string
  name: string
  message: string
  timing: ScheduleTiming
  nextAt: string
  /** The time for which it last fired. */
  lastAt?: string
}

/**
 * The schedules of the caller's agent. They survive restarts; times that passed while the gateway was down fire once,
 * at its start.
 */
export interface ScheduleApi {
  /** Throws `InputError` for a timing that means nothing or never comes, and when the agent has too many. */
  add(request: ScheduleRequest): Promise<ScheduleSummary>
  list(): Promise<ScheduleSummary[]>
  /** False: there is no such schedule. */
  remove(id: string): Promise<boolean>
  /** Fires it now, beside its times. @returns `undefined` when there is no such schedule. */
  run(id: string): Promise<{ runId: string; sessionKey: string } | undefined>
}

/** How the gateway is. Times are ISO 8601, UTC. */
export interface GatewayStatus {
  startedAt: string
  /** When the configuration was last read again; absent: not since the start. */
  reloadedAt?: string
  queuedRuns: number
  agents: string[]
  /** Each account of each configured channel. */
  channels: { channel: string; accountId: string; connected: boolean }[]
}

/** The gateway itself. */
export interface GatewayApi {
  status(): Promise<GatewayStatus>
  /** The configuration as it runs, defaults filled in, every secret replaced by `[redacted]`. */
  config(): Readonly<Record<string, unknown>>
  /**
   * Changes the configuration file: objects are merged, null removes a key, anything else replaces. Comments stay where
   * they are. Throws `InputError`, and writes nothing, when the result would not be valid or the change touches what is
   * not open to it.
   * @returns the paths that changed
   */
  patchConfig(changes: Readonly<Record<string, unknown>>): Promise<{ changed: string[] }>
  /**
   * Reads the configuration file again and takes over what it says; what has begun ends under the old one. A changed
   * file is also read by itself. Throws `InputError`, and changes nothing, when it is not valid.
   * @returns the keys whose new value waits for the next start
   */
  reload(): Promise<{ restartFor: string[] }>
}

/**
 * What a call does that matters where external content may have talked an agent into it.
 * - `reads-private`: its result tells something that a stranger must not learn (files, conversations, an account).
 * - `sends`: something that the arguments say reaches somebody outside (a message, a web address, a shared document).
 */
export type ToolEffect = 'reads-private' | 'sends'

/** The whole tool API. */
export interface ToolApi {
  sessions: SessionsView
  agents: { list(): AgentSummary[] }
  runs: RunApi
  /** Puts a message into the outbox: it is on disk when this resolves. Throws `InputError` when it can go nowhere. */
  deliver(request: DeliveryRequest): Promise<DeliveryReceipt>
  /**
   * Whether it would go where the reply of this run goes, or to the people whom this run answers. Throws `InputError`
   * when it can go nowhere.
   */
  isReplyRoute(request: Omit<DeliveryRequest, 'text'>): Promise<boolean>
  workspace: Workspace
  schedules: ScheduleApi
  gateway: GatewayApi
}
